"""How languages other than English greet and speak of oneself, and how Hindi, which no model here
reads, asks for what anybody could answer.

Each list holds regular expressions: `QUESTIONS` stand anywhere in a message, `GREETINGS` are all of
it.
"""

QUESTIONS = (
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
    r"\b\w+ mir\b|für mich|-moi\b|(?:帮|给|教|告诉|为|跟|陪|对|让)我|\bلي\b|[اأ]عطني|"
    "مج[اأ]نا|(?:나에게|내게) |मुझे (?:बताओ|सुनाओ|बताइए)"
)
THEIRS = (
    r"\b(?:ich|mein\w*|mir|mich|wir|uns\w*|yo|mis?|nuestr\w+|nos|je|j['’]|mon|ma|mes|nous|notre|"
    r"я|мне|меня|мо[йяеи]|наш\w*|[اأ]نا|نحن|عند(?:ي|نا)|ل(?:ي|نا)|(?!ال)\w{2,}(?:تي|نا))\b|我|"
    r"咱|俺|私|僕|俺|うち|わたし|(?:^|\s)(?:나|내|제|저|우리)(?:[는가의를도]|\s|$)|मैं|मेर[ाीे]|"
    r"मुझ|हमार|हम(?:\s|ें|ने)"
)
QUOTED = r"[\"“„«「『][^\"“”„»」』]*[\"“”»」』]"
