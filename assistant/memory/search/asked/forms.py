"""How languages other than English ask for what anybody could answer, greet, and speak of oneself.

Each list holds regular expressions: `COMMANDS` begin a message, `QUESTIONS` stand anywhere in it,
`GREETINGS` are all of it.
"""

POLITE = (
    "bitte|kannst du|könntest du|por favor|puedes|s['’]il te plaît|peux-tu|пожалуйста|можешь|"
    "请|請|麻烦|帮我|给我|为我|你能|你可以|能不能|可以|من فضلك|هل يمكنك|ممكن|कृपया|क्या तुम|"
    "क्या आप"
)
COMMANDS = (
    # German
    "berechn|rechne|dichte|erfinde|erklär|erzähl|schreib|übersetz|verfass|formulier|fass|nenn|"
    "definier|entwirf|denk dir|korrigier|wandle|teile|vergleich|sing|male|zeichne|rate|spiel|"
    "sag (?:etwas|was)|mach diesen|gib mir (?:ein|zwei|drei|fünf|zehn)",
    # Spanish
    "calcula|convierte|cuéntame|dame (?:un|dos|tres|cinco|diez)|define|dibuja|dime algo|escrib|"
    "escríb|explica|explíca|imagina|inventa|invéntame|redacta|resume|traduc|haz esta|canta|"
    "corrige",
    # French
    "calcul|convert|corrige|dessine|dis-moi quelque|donne-moi (?:un|deux|trois|cinq|dix)|écri|"
    "expliqu|imagine|invente|raconte|rédige|résume|rends cette|tradui|chante|définis",
    # Russian
    "вычисли|дай определение|исправь|назови|напиши|нарисуй|объясни|переведи|перескажи|посчитай|"
    "придумай|расскажи|реши|скажи что-нибудь|составь|сочини|сравни|спой|сделай это",
    # Chinese
    "[写寫编編作画畫唱][一个個首篇段封张張]|用.{1,12}[写寫]|(?:讲|講|说|說)[一个個点點]|"
    "翻[译譯]|算[一下]|计算|解[释釋]|介绍|推荐.{1,3}个|列出|列举|[总總]结|概括|用.{1,3}句话|"
    "改写|润色|纠正|换算|定义|扮演|假装|把.+(?:翻[译譯]|换算|改)|"
    "给.{1,40}[起取想].{0,20}(?:名字|标题)|写(?:诗|作文|代码)",
    # Arabic
    "[اأ]كتب|احك|قل |غن |ترجم|اشرح|احسب|حول|اقسم|اضرب|لخص|[اأ]لف |اخترع|اقترح|[اأ]عطني|صغ |صحح|"
    "[اأ]عد صياغة|عر[ّ]?ف |ارسم|صمم|عدد|اذكر|قارن|ابتكر|تخيل",
)
QUESTIONS = (
    # sums
    r"\d\s*(?:mal|plus|minus|geteilt durch|por|fois|умножить|плюс|минус|[加减減乘除]|かける|"
    r"たす|곱하기|더하기|ضرب|زائد|ناقص|गुणा|जोड़)\s*\w*\s*\d|(?:等于|等於)[多几幾]|平方根|루트|√",
    # German
    r"^was (?:ist|sind|bedeutet|heißt [\"„“«]|versteht man)\b|^(?:warum|wieso|weshalb) (?:ist|"
    r"sind) (?:der|die|das)\b|^wer hat .*(?:erfunden|entdeckt|geschrieben|gemalt|komponiert)|"
    r"^von wem ist (?:der|die|das)\b|^wie (?:funktionier|entsteh)|^wie (?:weit|hoch|tief|"
    r"schnell|schwer|groß) (?:ist|sind) (?:der|die|das)\b|^wie viele? [\w ]+ (?:sind|hat|"
    r"haben) (?:\d|ein|der|die|das)|wie sagt man|längste|größte .* der welt|der welt\b|^(?:bist|"
    r"magst|verstehst|träumst|hörst|kannst) du\b|^wie heißt du\b",
    # Spanish
    "qué (?:es|son|significa) |cuál es (?:la capital|el río|la montaña|la raíz|el opuesto)|"
    "quién (?:inventó|descubrió|escribió|pintó|compuso)|por qué (?:el|la|los|las) |"
    r"cómo (?:se dice|se forman?|funcionan?)|cuántos? [\w ]+ (?:son|hay en|tiene) (?:\d|el|la|"
    r"una?)|cuánto es|del mundo|^\W*(?:eres|puedes oírme|te gusta|sueñas)\b",
    # French
    "qu['’]est-ce qu['’]|quelle? est (?:la capitale|le plus|la plus|la racine|le contraire)|"
    "qui a (?:inventé|découvert|écrit|peint|composé)|^pourquoi (?:le|la|les) |que signifie|"
    r"comment (?:dit-on|se forme|fonctionne)|combien (?:font|de \w+ (?:font|y a-t-il|compte))|"
    r"du monde\b|^(?:es-tu|aimes-tu|rêves-tu|peux-tu)\b",
    # Russian
    "^что (?:такое|значит)|кака?[яйо]е? столица|кто (?:изобр[её]л|открыл|написал|нарисовал)|"
    "^почему (?:небо|трава|море|вода)|как (?:возника|работа[ею]т|устроен|по-)|сколько будет|"
    r"^сколько [\w]+ в |в мире\b|^ты ",
    # Chinese
    "什么是|是什么意思|什么意思|的(?:首都|沸点|人口|反义词|近义词|同义词|定义|区别|原理)|(?:谁|"
    "誰)(?:发明|发现|写|画)|是[谁誰](?:写|画|发明|发现)的|为什么.{1,6}(?:是|会|灭绝)|"
    "有多[远高大深重长快]|世界上?最|太阳系|是怎么(?:回事|形成)|怎么[说念读]|翻译成|"
    "一[一-鿿]{1,3}(?:是|等于|有)多少|[几三两]?公斤等于|怎么在|正则|^你[是会叫喜能]",
    # Japanese
    "を?(?:書い|作っ|考え|歌っ|訳し|要約し|説明し|翻訳し|計算し|教え|描い)てください|(?:詩|"
    "俳句|物語|関数|文|話|名前|歌).{0,8}(?:書いて|作って|考えて|つけて|して)|冗談|語に訳して|"
    "語で(?:何と|なんと|どう)|要約して|説明して|翻訳して|とは(?:何|なに|どう)|って(?:何|なに|"
    "どういう意味)|意味は|の首都|を?発明し|世界で一番|太陽系|は何キロ|は何秒|パーセントは|"
    r"なぜ.{1,6}の(?:か|ですか)?\W*$|どうして.{1,6}の|するには|^あなたは",
    # Korean
    "(?:시|동화|함수|글|편지|코드|이야기|메시지|이름).{0,12}(?:써|작성해|만들어|적어|지어|"
    "추천해|해) ?(?:줘|주세요|봐)|번역해|요약해|설명해|계산해|농담|(?:이|란|가) ?(?:뭐야|"
    r"무엇인가요|무슨 뜻)|의 수도|발명한|세계에서 가장|태양계|왜 .{1,6}(?:가요|까|지|야)\W*$|"
    "몇 (?:킬로|초|그램|미터)|퍼센트는|어로 (?:뭐라고|어떻게)|어떻게 (?:생기|작동)|하는 방법|"
    "^(?:너는|넌|당신은) ",
    # Arabic
    "^ما (?:هو |هي )?(?:عاصمة|معنى|الفرق|مرادف|عكس|ضد|تعريف|عدد سكان|[اأ]طول|[اأ]كبر|[اأ]على|"
    "[اأ]سرع|الجذر|الثقب|الذكاء|لغة|درجة غليان)|من (?:اخترع|اكتشف|كتب|رسم|[اأ]لف|[اأ]سس) |"
    "كيف (?:تعمل|يعمل|تتكون|يتكون|[اأ]قول|نقول)|كم (?:يساوي|تبعد|يبعد|عدد|ثانية|غرام)|"
    "لماذا السماء|(?:إلى|الى|ب)ال(?:إنجليزية|انجليزية|فرنسية|يابانية|[اأ]لمانية|إسبانية)|"
    "في العالم|باليابانية|بالإنجليزية|بايثون|جافاسكريبت|^هل (?:[اأ]نت|تحلم|تفهم|تحب|تسمع)|"
    "^ما اسمك|متى بدأت الحرب",
    # Hindi
    "(?:कविता|कहानी|चुटकुला|निबंध|फ़ंक्शन|गाना|संदेश|सारांश|पत्र|नाम).{0,24}(?:लिख|सुना|बना|सुझा|"
    "दो|बता|दीजिए)|अनुवाद कर|क्या (?:होता|होती) है|का मतलब|की राजधानी|का आविष्कार|कितना होता|"
    "कितने .{1,12} होते|दुनिया की सबसे|दुनिया का सबसे|सौरमंडल|प्रतिशत|क्यों (?:होता|नीला)|"
    "नीला क्यों|कैसे (?:आते|कहते|काम)|^क्या (?:तुम|आप) ",
)
GREETINGS = (
    # German
    "hallo|hey|moin|servus|gut(?:en|e) (?:morgen|tag|abend|nacht)|danke(?: dir| schön| sehr)?|"
    "vielen dank|okay|ok|alles klar|super|perfekt|prima|ja|nein|genau|tschüss|bis (?:bald|"
    "später|dann)|wie geht(?:['’]s| es)(?: dir)?|das war['’]?s",
    # Spanish
    "hola|buen[oa]s (?:días|tardes|noches)|(?:muchas )?gracias(?: por todo)?|vale|perfecto|sí|"
    "no|adiós|hasta (?:luego|mañana)|de acuerdo|qué tal|genial|claro",
    # French
    "bonjour|bonsoir|bonne (?:nuit|journée)|salut|merci(?: beaucoup| bien)?|d['’]accord|oui|"
    "non|parfait|c['’]est parfait|super|ça va|au revoir|à (?:demain|bientôt)",
    # Russian
    "привет|здравствуй(?:те)?|добр(?:ое утро|ый день|ый вечер)|спокойной ночи|"
    "(?:большое )?спасибо|да|нет|пока|до (?:завтра|свидания|встречи)|хорошо|отлично|понятно|"
    "как дела",
    # Chinese
    "[你您]好|嗨|哈[喽罗]|早[安上好]*|[晚下中]午?[上安好]+|(?:谢谢|謝謝|多谢)[你您啦了]*|好的?|"
    "好[吧啊]|没问题|没事|再见|拜拜|明白了?|知道了|行|可以|是的|对|不用了?|嗯+|哈+|太好了|"
    "不客气|辛苦了|在吗",
    # Japanese
    "こんにちは|こんばんは|おはよう(?:ございます)?|おやすみ(?:なさい)?|"
    "(?:どうも)?ありがとう(?:ございます)?|はい|いいえ|了解(?:です)?|わかりました|さようなら|"
    "また(?:ね|明日)|お疲れ様(?:です)?",
    # Korean
    "안녕(?:하세요)?|고마워요?|감사합니다|네|아니요?|좋은 (?:아침|밤)|잘 ?자요?|알겠(?:어요?|"
    "습니다)|좋아요?|잘 가요?",
    # Arabic
    r"مرحبا\u064b?|[اأ]هلا\u064b?(?: وسهلا)?|(?:و?عليكم )?السلام(?: عليكم)?|صباح (?:الخير|"
    r"النور)|مساء (?:الخير|النور)|تصبح على خير|شكر(?:ا\u064b?|"
    r"\u064bا)(?: جزيلا\u064b?)?(?: لك)?|تمام|ممتاز|حسنا\u064b?|طيب|نعم|لا|رائع|عفوا\u064b?|"
    "مع السلامة|كيف (?:حالك|الحال)",
    # Hindi
    "नमस्ते|नमस्कार|(?:बहुत )?धन्यवाद|शुक्रिया|सुप्रभात|शुभ (?:रात्रि|प्रभात)|हाँ|नहीं|ठीक है|अलविदा|अच्छा",
)
TO_ME = (
    r"\w+(?:e|en)? mir\b|für mich|-moi\b|(?:帮|给|教|告诉|为|跟|陪|对|让)我|\bلي\b|[اأ]عطني|"
    "مج[اأ]نا|(?:나에게|내게) |मुझे (?:बताओ|सुनाओ|बताइए)"
)
THEIRS = (
    r"\b(?:ich|mein\w*|mir|mich|wir|uns\w*|yo|mis?|nuestr\w+|nos|je|j['’]|mon|ma|mes|nous|notre|"
    r"я|мне|меня|мо[йяеи]|наш\w*|[اأ]نا|نحن|عند(?:ي|نا)|ل(?:ي|نا)|(?!ال)\w{2,}(?:تي|نا))\b|我|"
    r"咱|俺|私|僕|俺|うち|わたし|(?:^|\s)(?:나|내|제|저|우리)(?:[는가의를도]|\s|$)|मैं|मेर[ाीे]|"
    r"मुझ|हमार|हम(?:\s|ें|ने)"
)
QUOTED = r"[\"“„«「『][^\"“”„»」』]*[\"“”»」』]"
