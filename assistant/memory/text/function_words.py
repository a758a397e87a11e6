"""Words that say nothing by themselves, and words that tell their language, by language."""

FUNCTION_WORDS = {
    "english": """a about all an and any are as at be been but by can did do does for from had has
        have he her him his how i if in is it its me my no not of on only or our she should so
        than that the their them then there they this those to was we were what when where which
        who why will with would you your""",
    "german": """aber alle allem allen als am an auch auf aus bei bin bis bist da damit dann das
        dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir
        doch du ein eine einem einen einer eines er es euch euer für gibt hab habe haben hat
        hatte ich ihm ihn ihr ihre ihrem ihren im in ins ist ja kann kein keine können man mein
        meine meinem meinen meiner mich mir mit muss müssen nach nicht noch nur ob oder schon
        sein seine seinem seinen seiner sich sie sind so soll über um und uns unser unsere
        unserem unseren unserer vom von vor wann war waren warum was wegen weil welche welchem
        welchen welcher welches wem wen wenn wer werden wie wir wird wo woher wohin wurde zu zum
        zur""",
    "spanish": """a al algo antes como cómo con cual cuál cuales cuáles cuando cuándo cuanta cuánta
        cuantas cuántas cuanto cuánto cuantos cuántos de del desde donde dónde e el él ella
        ellos en entre era es esa ese eso esta está están este esto fue ha había han hasta hay
        he la las le les lo los más me mi mis muy nada ni no nos nosotros nuestra nuestras
        nuestro nuestros o para pero por porque que qué quien quién quienes se ser si sí sin
        sobre son soy su sus también te tengo tenemos tiene tienen tu tus un una unas uno unos y
        ya yo""",
    "french": """a ai alors as au aux avec avons c ce ces cet cette chez combien comme comment d
        dans de depuis des donc du elle elles en es est et été être eu fait il ils j je l la le
        les leur leurs lui m ma mais me mes moi mon n ne nos notre nous on ont ou où par pas
        plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si
        son sont sur t ta te tes toi ton tu un une va vont vos votre vous y à ça""",
    "italian": """a ai al alla alle anche che chi ci come con cosa da dal dalla degli dei del della
        delle di dove e è gli ha hanno ho i il in io la le lo ma mi mia mio nel nella non o per
        perché più quale quali quando quanto questa questo sei si sono su sua suo ti tra tu un
        una uno""",
    "portuguese": """a ao aos as às com como da das de do dos e é ela ele em entre era essa esse
        esta está este eu foi há isso já mais mas me meu minha muito na nas não no nos nós o
        onde os ou para pela pelo por porque qual quando quanto que quem se sem ser seu sua são
        também tem um uma você""",
    "dutch": """aan al als bij dan dat de deze die dit door een en er ge geen had heb hebben heeft
        het hij hoe hun ik in is je kan maar me met mijn na naar niet nog of om onze ook op over
        te tot uit van veel voor waar wanneer was wat we wel welke werd wie wij worden zijn zo""",
    "russian": """а без был была были было быть в вам вас во вот все всё вы где да для до его ее её
        ей если есть еще ещё же за и из или им их к как какая какие какого какой какое кем когда
        кого кому который кто куда ли между меня мне можно мой моя моё мои мы на над надо нам
        нас наш наша наше наши не него нее нет ни них но ну о об он она они от откуда по под
        почему при про с сколько со так там то того тоже только тот ты у уже чего чей чем что
        чтобы чья эта эти это этот я""",
    "arabic": """أن أنا أين أي إلى إن التي الذي أو أم الى اين بعد بين تم ثم حتى ذلك عن على عند عندنا
        عندي عليه في فيه فيها كان كانت كل كم كيف لا لم لن لنا له لها لي ليس ما ماذا متى مع من
        منذ نحن هذا هذه هل هو هي و يا""",
    "hindi": """अपना अपनी अपने आप इस इसका इसके उस उसका उसकी उसके एक और कब कर करना करने कहाँ कहां का
        कि कितना कितनी कितने किस किसका किसकी किसके किसको किसने किससे की कुछ के को कौन कौनसा क्या
        क्यों गया गई जो तक तो था थी थे ने पर बाद भी मुझे में मेरा मेरी मेरे मैं यह या रहा रही
        रहे लिए वह वाला वाली वाले से हम हमने हमारा हमारी हमारे ही हुआ हुई हूँ है हैं हो होता
        होती होना""",
    "turkish": """acaba ama bana ben benim beni bir biz bizim bu bunu çok daha değil diye gibi hangi
        her için ile ise kadar kaç kaçta kim kimde kime kimin mı mi mu mü ne neden nerede nereye
        nereden nasıl nedir olan olarak onun sana sen senin şu ve veya var yok""",
    "polish": """ale bez był była było być co czy dla gdzie go ich ile jak jaka jaki jakie jakiego
        jaką jego jej jest jestem już kiedy kogo komu kto która które który mam mnie moja moje
        mój mojego mojej nad nam nas nasz nasza nasze naszego nie niż od ona oni po pod przed
        przez przy się są ta tak także tam te tego tej ten u w we z za ze że""",
    "czech": """ale bez byl byla bylo být co od jak jaká jaké jaký je jeho její jsem jsme jsou kam
        kde kdo kdy když ke který která které máme mám můj moje mého náš naše našeho nebo nic po
        pod proč před při se si už ve že""",
    "swedish": """att av det där är ett från för har hos hur hade inte jag kan med mig min mitt mina
        när och också på som ska till vad var vart vem vår vårt våra vi vilken vilket""",
    "danish": """af blev det du efter eller er et fra har havde hos hvad hvem hvilken hvilket hvor
        hvordan hvornår ikke jeg kan med mig mit mine når og også på som skal til vi vores være""",
    "romanian": """acest această al ale am are ce când care cât câte către cine cu cum de din este
        eu fi fost în la mea mei mele meu noastră nostru nu o pe pentru sau se și sunt un unde""",
    "hungarian": """az de egy ez és hány hogy hogyan hol honnan hová kell ki kié mennyi mert mi
        mikor milyen miért nálunk nekem nem van volt vagy""",
    "indonesian": """ada adalah aku apa bagaimana berapa dan dari dengan di dimana ini itu kami
        kapan ke kita mana oleh pada saya siapa tidak untuk yang""",
    "vietnamese": """ai bao bị bởi các cái chiếc cho chúng có của cùng đã đang đâu để đến đi được gì
        hay khi không là làm lúc mà mấy mình mỗi một nào này nên nhiêu những như ở ra rồi sẽ ta
        tại thì tôi trong từ và vào về với""",
    "ukrainian": """а або але без був була були було в від він вона вони все де для до є з за зі і
        із й її йому його коли кого кому кілька куди мене мені ми мій моє мої моя на нам нас наш
        наша наше наші не ні по при про скільки та так там те ти то у хто це цей ця чи чий чого
        чому що щоб я як яка яке який які""",
    "greek": """από αυτό για δεν είναι ένα ένας εμείς έχει έχουμε έχω ή ήταν η θα και κάθε μας με
        μου να ο οι που πού ποια ποιο ποιον ποιος πόσα πόσες πόσο πότε πώς σε σου στα στη στην
        στις στο στον στους τα τη την της τι τις το τον του τους των""",
    "hebrew": """אבל או אותו אותי אחרי איך אין איפה אל אם אנחנו אני את אתה גם הוא היא היה הייתה הם
        זאת זה זו יש כי כמה כן לא לאן לו לי לנו למה לפני מה מי מתי עד על עם של שלי שלנו""",
    "persian": """است از این آن او ایا با برای بود به تا چرا چطور چند چه چی در را کجا کجاست کدام که
        کی کیست ما من می نه هر هست هم های و ها یا""",
    "urdu": """اور اس ایک تک تھا تھی تھے جو سے کا کب کتنا کتنی کتنے کس کو کون کہاں کی کے کیا کیسے
        کیوں میرا میری میرے میں نے وہ پر ہم ہمارا ہماری ہمارے ہو ہوا ہے ہیں یا یہ""",
}
TELLING = {
    "english": "after again always because before every never since until while",
    "german": """dezember dienstag donnerstag drei freitag februar fünf geburtstag januar märz
        mittwoch montag oktober samstag sechs sieben sonntag uhr vier zahnarzt zehn zwei""",
    "spanish": """cinco cuatro cumpleaños diciembre enero febrero jueves julio junio lunes marzo
        miércoles noviembre octubre septiembre sábado tres viernes""",
    "french": """anniversaire août avril cinq décembre deux dimanche février janvier jeudi juillet
        juin lundi mardi mercredi octobre quatre samedi trois vendredi""",
    "italian": """compleanno dicembre domenica febbraio gennaio giovedì luglio lunedì martedì
        mercoledì ottobre sabato settembre venerdì""",
    "portuguese": """aniversário dezembro domingo fevereiro janeiro julho junho outubro quinta
        segunda setembro sexta sábado terça""",
    "dutch": """dinsdag donderdag januari maandag maart vrijdag verjaardag woensdag zaterdag
        zondag""",
}
"""Words that say something, and in which language: most name a day or a month."""
