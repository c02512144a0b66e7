#!/usr/bin/env python3
"""Writes contacts.vcf: 1,000 vCard 4.0 cards (RFC 6350) of people who do not exist.

    python3 make-contacts.py > contacts.vcf
    python3 make-contacts.py --check contacts.vcf     # fails when the file is not what this script writes

Source: the word lists below were written for this file. Given and family names are everyday words of their languages,
put together at random; addresses end in example.com; telephone numbers come from the ranges that numbering
authorities keep free for fiction. The output depends on nothing but this file: same script, same bytes.
"""

import sys

COUNT = 1000
FOLD_OCTETS = 75


class Chance:
    """SplitMix64: the same sequence with every Python."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return z ^ (z >> 31)

    def below(self, bound):
        return self.next() % bound

    def pick(self, items):
        return items[self.below(len(items))]

    def one_in(self, n):
        return self.below(n) == 0

    def some(self, items, most):
        rest, chosen = list(items), []
        for _ in range(1 + self.below(most)):
            chosen.append(rest.pop(self.below(len(rest))))
        return chosen


# (language, family name first?, given names, family names); a name is "native" or "native|in Latin letters".
PEOPLE = [
    ("en", False,
     "Ada Alfred Beatrice Clement Daisy Edgar Flora Gideon Hazel Isaac Juniper Keziah Linus Mabel Nathaniel Olive "
     "Percival Quentin Rosalind Silas Tabitha Ulysses Violet Winifred",
     "Ashdown Barlow Crewe Dunmore Everly Fairwater Gatling Hollis Ingram Jessop Kirkby Lockwood Marsh Marlowe "
     "Marchmont Nettleton Osgood Pemberton Quimby Ravensdale Stirling Thackery Underhill Whitlock"),
    ("de", False,
     "Anneliese Björn Cäcilie Dörte Emil Friederike Günther Heike Ingo Jürgen Käthe Lothar Mechthild Oskar Rüdiger "
     "Sönke Ute Wiebke",
     "Ackermann Brückner Dürrwang Eichhorn Försterling Großmann Hüttner Jäger Königsfeld Löwenthal Marquardt Marbach "
     "Nußbaum Öhlmann Rößler Schäferling Übelacker Weißgerber"),
    ("fr", False,
     "Adélaïde Barnabé Céleste Édouard Françoise Gaëlle Hélène Joël Léonie Maël Noël Océane René Sévérine Théophile Zoé",
     "Aubépine Beauchêne Châtelain Désormais Évrard Fontaine Garçonnet L'Hermite Lefèvre Marchand Marivaux Noisette "
     "Pâquerette Rivière Saint-Clair Vauclair"),
    ("es", False,
     "Adrián Belén Concepción Darío Eulalia Fermín Graciela Íñigo Lucía Macarena Nicolás Ramón Sofía Tomás",
     "Álamo Bermúdez Carrizo Domínguez Espinar Fuentes Martínez Marín Muñoz Nogueira Peñalver Quiñones Robledo Zúñiga"),
    ("it", False,
     "Amedeo Bianca Carmela Donatello Elettra Fiorenza Gualtiero Ilaria Lavinia Niccolò Ottavia Romeo Serafina",
     "Abbondanza Bellini Campanella D'Angelo Fiorentino Gallo Marchetti Mariani Nespola Olivieri Pellegrino Tramonti"),
    ("pl", False,
     "Agnieszka Bożena Cezary Elżbieta Grażyna Józef Krzysztof Łucja Małgorzata Paweł Stanisława Wojciech Żaneta",
     "Brzoza Czajka Dąbrowski Gąsior Jabłoński Kaźmierczak Łoś Marczak Niedźwiedź Sikora Świerk Wiśniewska Żuraw"),
    ("cs", False,
     "Bohumil Čeněk Drahomíra Jiří Květa Ludmila Miloš Naděžda Ondřej Růžena Štěpán Zdeněk",
     "Čermák Dvořák Havránek Jeřábek Kovařík Mareček Novotný Řezníček Sýkora Šťastný Vrána Žďárský"),
    ("tr", False,
     "Ayşe Çağlar Deniz Emine Gökhan Işıl İbrahim Nilüfer Oğuz Şebnem Umut Yağmur",
     "Akgün Bülbül Çınar Demirci Gündoğdu Kılıç Marangoz Özdemir Şahin Tekin Yıldırım"),
    ("vi", True,
     "An Bảo Châu Đức Hạnh Khánh Liên Minh Ngọc Phương Quỳnh Thảo Tuấn Vân Xuân",
     "Nguyễn Trần Lê Phạm Hoàng Vũ Đặng Bùi Đỗ Hồ Ngô Dương"),
    ("sv", False,
     "Åsa Börje Elsa Folke Göran Håkan Ingegerd Märta Östen Torbjörn Ylva",
     "Ålander Björkman Ekström Granlund Hällström Lindqvist Martinsson Nyström Öberg Sjöstrand"),
    ("ru", False,
     "Аглая|Aglaya Борис|Boris Варвара|Varvara Глеб|Gleb Дарья|Darya Евгений|Evgeny Зоя|Zoya Игорь|Igor Ксения|Ksenia "
     "Лев|Lev Марфа|Marfa Пётр|Pyotr Тимофей|Timofey",
     "Берёзкин|Beryozkin Воробьёв|Vorobyov Гончар|Gonchar Журавлёв|Zhuravlyov Зимин|Zimin Лебедь|Lebed Мартынов|Martynov "
     "Орлов|Orlov Рябинин|Ryabinin Соловей|Solovey Щукин|Shchukin"),
    ("uk", False,
     "Богдана|Bohdana Василь|Vasyl Ганна|Hanna Дмитро|Dmytro Їлина|Yilyna Катерина|Kateryna Микола|Mykola Оксана|Oksana "
     "Тарас|Taras",
     "Бондар|Bondar Гайова|Haiova Довженко|Dovzhenko Коваль|Koval Лисенко|Lysenko Мельник|Melnyk Чумак|Chumak"),
    ("el", False,
     "Αλέξανδρος|Alexandros Βασιλική|Vasiliki Γεωργία|Georgia Δημήτρης|Dimitris Ελένη|Eleni Θεόδωρος|Theodoros "
     "Ιωάννα|Ioanna Κωνσταντίνος|Konstantinos Φωτεινή|Foteini",
     "Αγγελίδης|Angelidis Βασιλείου|Vasileiou Γαλανός|Galanos Ελευθερίου|Eleftheriou Καραγιάννης|Karagiannis "
     "Μαρκόπουλος|Markopoulos Παπαδάκη|Papadaki Σταυρίδης|Stavridis"),
    ("ar", False,
     "أمينة|Amina بشير|Bashir جميلة|Jamila حسن|Hassan خالد|Khalid زينب|Zaynab سليمان|Sulayman عائشة|Aisha فاطمة|Fatima "
     "ليلى|Layla يوسف|Yusuf",
     "البستاني|Bustani التاجر|Tajir الحداد|Haddad الخطيب|Khatib الشريف|Sharif الصباغ|Sabbagh القاضي|Qadi النجار|Najjar"),
    ("fa", False,
     "آرش|Arash بهار|Bahar پریسا|Parisa جمشید|Jamshid داریوش|Dariush ژاله|Zhaleh کیوان|Keyvan گلناز|Golnaz",
     "بهرامی|Bahrami پارسا|Parsa تهرانی|Tehrani چمنی|Chamani رستمی|Rostami کریمی|Karimi گلستانی|Golestani"),
    ("he", False,
     "אביגיל|Avigail בועז|Boaz גיתית|Gitit דניאל|Daniel חנה|Hannah יעל|Yael נעמי|Naomi רונית|Ronit שלמה|Shlomo",
     "אלון|Alon ברק|Barak גולן|Golan כרמי|Karmi מזרחי|Mizrahi שקד|Shaked תמרי|Tamari"),
    ("hi", False,
     "अनन्या|Ananya दीपक|Deepak गीता|Gita हरीश|Harish ज्योति|Jyoti कबीर|Kabir मीरा|Meera नरेंद्र|Narendra प्रिया|Priya "
     "रोहन|Rohan सुनीता|Sunita",
     "अग्रवाल|Agrawal चौधरी|Chaudhary गुप्ता|Gupta जोशी|Joshi मिश्रा|Mishra पाटिल|Patil शर्मा|Sharma वर्मा|Verma"),
    ("bn", False,
     "অনিতা|Anita বিকাশ|Bikash চন্দনা|Chandana দেবাশিস|Debashis মৌসুমি|Mousumi রবীন|Robin শর্মিলা|Sharmila",
     "বসু|Basu দাস|Das ঘোষ|Ghosh মজুমদার|Majumdar রায়|Ray সেন|Sen"),
    ("ta", False,
     "அருண்|Arun கவிதா|Kavitha செல்வி|Selvi தமிழரசன்|Tamilarasan மாலா|Mala வேலன்|Velan",
     "இளங்கோ|Ilango குமரன்|Kumaran சுந்தரம்|Sundaram பாண்டியன்|Pandian முருகன்|Murugan"),
    ("th", False,
     "กานดา|Kanda จันทร์|Chan ชัยวัฒน์|Chaiwat ดวงใจ|Duangjai ปิติ|Piti มาลี|Mali สมชาย|Somchai",
     "แก้วมณี|Kaewmanee ทองดี|Thongdee บุญมา|Boonma ศรีสุข|Srisuk สายชล|Saichon"),
    ("zh", True,
     "安|An 春华|Chunhua 大伟|Dawei 芳|Fang 国强|Guoqiang 慧敏|Huimin 建国|Jianguo 丽娜|Lina 明月|Mingyue 秋实|Qiushi "
     "思远|Siyuan 文静|Wenjing 雪梅|Xuemei",
     "陈|Chen 丁|Ding 冯|Feng 高|Gao 黄|Huang 李|Li 马|Ma 欧阳|Ouyang 钱|Qian 孙|Sun 王|Wang 吴|Wu 张|Zhang 周|Zhou"),
    ("ja", True,
     "葵|Aoi 健太|Kenta 花子|Hanako 翔|Sho 美咲|Misaki 直樹|Naoki さくら|Sakura 拓海|Takumi ゆい|Yui 良子|Ryoko",
     "青木|Aoki 石川|Ishikawa 小林|Kobayashi 佐々木|Sasaki 田中|Tanaka 中村|Nakamura 松本|Matsumoto 丸山|Maruyama 渡辺|Watanabe"),
    ("ko", True,
     "가온|Gaon 나리|Nari 다솜|Dasom 민준|Minjun 보라|Bora 서연|Seoyeon 예린|Yerin 지훈|Jihoon 하늘|Haneul",
     "강|Kang 김|Kim 박|Park 서|Seo 윤|Yoon 이|Lee 정|Jeong 최|Choi 한|Han"),
    ("ka", False,
     "ანა|Ana გიორგი|Giorgi დავით|Davit ეკატერინე|Ekaterine ლევან|Levan ნინო|Nino თამარ|Tamar",
     "აბაშიძე|Abashidze ბერიძე|Beridze გელაშვილი|Gelashvili კაპანაძე|Kapanadze მაისურაძე|Maisuradze"),
    ("hy", False,
     "Անահիտ|Anahit Գայանե|Gayane Հայկ|Hayk Նարեկ|Narek Շուշան|Shushan Վահան|Vahan",
     "Գրիգորյան|Grigoryan Հակոբյան|Hakobyan Մարտիրոսյան|Martirosyan Պետրոսյան|Petrosyan Սարգսյան|Sargsyan"),
    ("am", False,
     "አበበ|Abebe ብርሃን|Birhan ሐና|Hanna ሰላም|Selam ታደሰ|Tadesse ወርቅነሽ|Workinesh",
     "ለማ|Lemma መኮንን|Mekonnen በቀለ|Bekele ተስፋዬ|Tesfaye ገብሬ|Gebre"),
    ("sw", False,
     "Amani Baraka Chausiku Furaha Imani Jabari Neema Rehema Tumaini Zawadi",
     "Kamau Makena Mwangi Njoroge Odhiambo Simba Wanjala"),
]

PLACES = {
    "en": ("United Kingdom", ["Little Fenwick", "Harrowmere", "Upper Tarn", "Port Selwyn"]),
    "de": ("Deutschland", ["Königsaue", "Oberlindenthal", "Grünhafen", "Weißbach an der Leite"]),
    "fr": ("France", ["Saint-Amarin-des-Prés", "Châteauclair", "Bourg-l'Étang", "Vieux-Port"]),
    "es": ("España", ["Fuenteclara", "Villanueva del Río Seco", "Peñablanca"]),
    "it": ("Italia", ["Montechiaro", "Borgo San Lupo", "Castel d'Oro"]),
    "pl": ("Polska", ["Nowa Dąbrowa", "Stary Młyn", "Żółte Wzgórze"]),
    "cs": ("Česko", ["Dolní Lhotka", "Černý Brod", "Nový Žďár"]),
    "tr": ("Türkiye", ["Yeşilköprü", "Gümüşdere", "Işıklar"]),
    "vi": ("Việt Nam", ["Phố Mới", "Bến Đá", "Sông Trăng"]),
    "sv": ("Sverige", ["Norra Ängen", "Skärhamra", "Östervik"]),
    "ru": ("Россия", ["Белозорск", "Новые Ключи", "Сосновка"]),
    "uk": ("Україна", ["Нова Криниця", "Білий Яр"]),
    "el": ("Ελλάδα", ["Νέα Πηγή", "Παλαιό Λιμάνι"]),
    "ar": ("الأردن", ["عين الورد", "تل النخيل"]),
    "fa": ("ایران", ["چشمه‌سار", "باغ نو"]),
    "he": ("ישראל", ["עין תמר החדשה", "גבעת השקד"]),
    "hi": ("भारत", ["नयापुर", "कमलगंज", "सोनगढ़"]),
    "bn": ("বাংলাদেশ", ["নতুনপাড়া", "সোনাদিঘি"]),
    "ta": ("இந்தியா", ["புதூர்", "வெள்ளாறு"]),
    "th": ("ประเทศไทย", ["บ้านใหม่", "ท่าน้ำทอง"]),
    "zh": ("中国", ["新泉市", "云门镇", "白河县"]),
    "ja": ("日本", ["青葉ヶ浜市", "新緑町", "霧が峰村"]),
    "ko": ("대한민국", ["새솔시", "은하동", "달빛읍"]),
    "ka": ("საქართველო", ["ახალწყარო", "მზისუბანი"]),
    "hy": ("Հայաստան", ["Նորաղբյուր", "Արևաշատ"]),
    "am": ("ኢትዮጵያ", ["አዲስ ምንጭ", "ነጭ ወንዝ"]),
    "sw": ("Kenya", ["Maji Mapya", "Bandari ya Kale"]),
}

STREETS = {
    "en": ["Orchard Lane", "Mill Row", "St. Agnes' Terrace; Rear Block", "Station Road"],
    "de": ["Lindenstraße", "Am Alten Speicher", "Mühlgäßchen"], "fr": ["rue des Lilas", "allée de l'Écluse"],
    "es": ["Calle del Olmo", "Plaza de la Fuente"], "it": ["via dei Glicini", "piazza del Pozzo"],
    "ru": ["ул. Садовая", "пер. Тихий"], "el": ["Οδός Ελιάς"], "ar": ["شارع الزيتون"], "he": ["רחוב הגפן"],
    "hi": ["नीम मार्ग"], "zh": ["梧桐路"], "ja": ["桜通り"], "ko": ["은행나무길"], "tr": ["Çınar Sokağı"],
    "pl": ["ul. Lipowa"], "cs": ["Na Výsluní"], "sv": ["Björkvägen"], "vi": ["Đường Hoa Sữa"],
}

ORGANIZATIONS = [
    ("Brightwater Bakery", []), ("Fable & Sons, Bookbinders", ["Repairs"]), ("Quillfeather Press", ["Maps", "Atlas desk"]),
    ("Nordlicht Werkzeuge GmbH", ["Einkauf"]), ("Atelier Mirabelle", []), ("Hospital of the Seven Wells", ["Night ward"]),
    ("Municipal Library", ["Children's room"]), ("霧島時計店", []), ("Сад и Ко", ["Оранжерея"]), ("مكتبة الياسمين", []),
    ("Lighthouse Keepers' Union", ["Section; West"]), ("Slow Train Travel", []), ("Tidewrack Surveyors", ["Soundings"]),
    ("Padaria Três Luas", []), ("한빛 악기", ["수리"]), ("The Comma, Semicolon; and Backslash\\Company", []),
]

NOTES = [
    "Met at the harbour fair; promised a recipe for plum cake.",
    "Call after six.\nNever on Tuesdays, choir practice.",
    "Allergic to walnuts, bees and small talk.",
    "Owes me a book: \"The Salt Road\", second volume.",
    "Prefers letters. Really: paper, ink, stamps.",
    "Knows everybody in the valley; ask before going up.",
    "Путешествует летом, отвечает только вечером.",
    "お茶の会は毎月第二土曜日。",
    "Schlüssel beim Nachbarn, Erdgeschoß links.",
    "شاي الساعة الخامسة، كل خميس.",
    "Path in the notes: C:\\letters\\2019, keep the backslashes.",
    "Lives on the top floor, ring twice, wait for the dog to stop barking, then go round by the garden gate, "
    "because the front door has been stuck since the flood and nobody has ever found the time to plane it down.",
    "🎻 plays second violin; 🎂 likes lemon; 🐈 two cats (Ivory & Soot).",
]

CATEGORIES = ["friends", "family", "work", "choir", "neighbours", "school", "chess club", "allotment", "travel, abroad",
              "suppliers", "doctors", "music"]
TITLES = ["Bookbinder", "Ferry pilot", "Nurse", "Teacher of mathematics", "Clockmaker", "Beekeeper", "Cartographer",
          "Baker", "Interpreter", "Piano tuner"]
LABELS = ["Allotment", "Summer house", "Boat", "_$!<Other>!$_"]
# One transparent pixel: apps export photographs, readers of contacts may skip them.
PIXEL = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
         "RU5ErkJggg==")


def names(words):
    return [tuple((word + "|" + word).split("|")[:2]) for word in words.split()]


def ascii_name(text):
    plain = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "o", "å": "a", "ł": "l", "đ": "d", "ı": "i"}
    import unicodedata
    spelled = "".join(plain.get(c, c) for c in text.lower())
    spelled = unicodedata.normalize("NFD", spelled)
    return "".join(c for c in spelled if c.isascii() and c.isalnum())


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace(",", "\\,").replace(";", "\\;")


def folded(line):
    """At most 75 octets a line, never inside a character (RFC 6350 section 3.2)."""
    parts, part, size = [], "", 0
    for character in line:
        octets = len(character.encode())
        if size + octets > FOLD_OCTETS:
            parts.append(part)
            part, size = "", 1
        part += character
        size += octets
    parts.append(part)
    return "\r\n ".join(parts) + "\r\n"


def telephone(chance):
    form = chance.below(5)
    if form == 0:
        return "+1-%d-555-01%02d" % (200 + chance.below(700), chance.below(100))
    if form == 1:
        return "+44-20-7946-0%03d" % chance.below(1000)
    if form == 2:
        return "+49-30-23125-%03d" % chance.below(1000)
    if form == 3:
        return "+33-1-99-00-%02d-%02d" % (chance.below(100), chance.below(100))
    return "+61-2-5550-%04d" % chance.below(10000)


def uuid(chance):
    digits = "%016x%016x" % (chance.next(), chance.next())
    digits = digits[:12] + "4" + digits[13:16] + "89ab"[chance.below(4)] + digits[17:]
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def card(number, chance, seen):
    language, family_first, givens, families = PEOPLE[number % len(PEOPLE)]
    given, given_latin = chance.pick(names(givens))
    family, family_latin = chance.pick(names(families))
    middle = chance.pick(names(givens))[0] if chance.one_in(7) else ""
    prefix = chance.pick(["Dr.", "Prof.", "Ms.", "Mr."]) if chance.one_in(11) else ""
    suffix = chance.pick(["Jr.", "M.D.", "III"]) if chance.one_in(23) else ""
    if family_first and language in ("zh", "ja", "ko"):
        full = family + given
    elif family_first:
        full = " ".join(filter(None, [family, middle, given]))
    else:
        full = " ".join(filter(None, [prefix, given, middle, family]))
        full += ", " + suffix if suffix else ""

    address = ascii_name(given_latin) + "." + ascii_name(family_latin)
    seen[address] = seen.get(address, 0) + 1
    if seen[address] > 1:
        address += str(seen[address])

    lines = ["BEGIN:VCARD", "VERSION:4.0", "UID:urn:uuid:" + uuid(chance)]
    if chance.one_in(5):
        lines.append("KIND:individual")
    lines.append("FN:" + escaped(full))
    sort = ';SORT-AS="%s,%s"' % (family_latin, given_latin) if family != family_latin else ""
    lines.append("N" + sort + ":" + ";".join(map(escaped, [family, given, middle, prefix, suffix])))
    if given != given_latin:
        lines.append("NICKNAME;LANGUAGE=en:" + escaped(given_latin))
    if chance.one_in(9):
        lines.append("LANG:" + language)

    lines.append("EMAIL;TYPE=home;PREF=1:%s@example.com" % address)
    if chance.one_in(3):
        lines.append("EMAIL;TYPE=work:%s@work.example.com" % address)
    if chance.one_in(8):
        lines.append("item1.EMAIL:%s@boat.example.com" % address)
        lines.append("item1.X-ABLabel:" + escaped(chance.pick(LABELS)))
    if not chance.one_in(6):
        lines.append('TEL;VALUE=uri;PREF=1;TYPE="voice,cell":tel:' + telephone(chance))
    if chance.one_in(4):
        lines.append("TEL;TYPE=home:" + telephone(chance).replace("-", " "))
    if chance.one_in(15):
        lines.append("TEL;VALUE=uri;TYPE=work:tel:%s;ext=%d" % (telephone(chance), 1 + chance.below(99)))

    if not chance.one_in(4):
        country, cities = PLACES[language]
        street = chance.pick(STREETS.get(language, ["1 Market Square"]))
        parts = ["", "", "%s %d" % (street, 1 + chance.below(180)), chance.pick(cities), "",
                 "%05d" % chance.below(100000), country]
        label = ';LABEL="%s^n%s"' % (parts[2].replace('"', "^'"), parts[3]) if chance.one_in(12) else ""
        lines.append("ADR;TYPE=home" + label + ":" + ";".join(map(escaped, parts)))
    if chance.one_in(2):
        year, month, day = 1931 + chance.below(75), 1 + chance.below(12), 1 + chance.below(28)
        lines.append("BDAY:--%02d%02d" % (month, day) if chance.one_in(9) else "BDAY:%04d%02d%02d" % (year, month, day))
    if chance.one_in(3):
        company, units = chance.pick(ORGANIZATIONS)
        lines.append("ORG:" + ";".join(map(escaped, [company] + units)))
        lines.append("TITLE:" + escaped(chance.pick(TITLES)))
    if chance.one_in(3):
        lines.append("NOTE:" + escaped(chance.pick(NOTES)))
    if chance.one_in(2):
        lines.append("CATEGORIES:" + ",".join(map(escaped, chance.some(CATEGORIES, 3))))
    if chance.one_in(20):
        lines.append("URL:https://www.example.com/people/" + address)
    if chance.one_in(60):
        lines.append("PHOTO:" + PIXEL)
    lines.append("REV:2024%02d%02dT%02d%02d%02dZ" % (1 + chance.below(12), 1 + chance.below(28), chance.below(24),
                                                      chance.below(60), chance.below(60)))
    lines.append("END:VCARD")
    return "".join(map(folded, lines))


def main():
    chance, seen = Chance(6350), {}
    text = "".join(card(number, chance, seen) for number in range(COUNT)).encode()
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2], "rb") as file:
            sys.exit(0 if file.read() == text else "%s differs from what this script writes" % sys.argv[2])
    sys.stdout.buffer.write(text)


if __name__ == "__main__":
    main()
