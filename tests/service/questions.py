"""Questions in English, German and Arabic, for pictures of the pages where people answer."""

import discreet as dc

WAYS = ["By train or tram", "By car", "By bicycle", "On foot", "I work at home and do not commute"]
WORDS = {
    "en": ("Commuting", "How do you get to work?\nThink of last week.", WAYS),
    "de": ("Arbeitsweg", "Wie kommen Sie zur Arbeit?\nDenken Sie an die letzte Woche.",
           ["Mit Bahn oder Bus", "Mit dem Auto", "Mit dem Fahrrad", "Zu Fuß", "Ich arbeite zu Hause"]),
    "ar": ("الطريق إلى العمل", "كيف تصل إلى عملك؟\nفكّر في الأسبوع الماضي.",
           ["بالقطار أو الحافلة", "بالسيارة", "بالدراجة", "سيرًا على الأقدام", "أعمل من المنزل"]),
}  # fmt: skip
MINUTES = {
    "en": ("Minutes to work", "How many minutes does it take you to get to work?", "minutes",
           "You are free to stop at any time. The study ends in May."),
    "de": ("Minuten zur Arbeit", "Wie viele Minuten brauchen Sie zur Arbeit?", "Minuten",
           "Sie können jederzeit aufhören. Die Studie endet im Mai."),
    "ar": ("دقائق إلى العمل", "كم دقيقة تستغرق للوصول إلى عملك؟", "دقيقة",
           "يمكنك التوقف في أي وقت. تنتهي الدراسة في مايو."),
}  # fmt: skip

ASKED = {
    "en": ("Your week", ["Do you smoke?", "Do you drink alcohol?", "How was your mood, from 1 (low) to 5 (high)?",
                         "Which of these did you have?", "How old are you?"],
           ["yes", "no"], ["cough", "fever", "rash"]),
    "de": ("Ihre Woche", ["Rauchen Sie?", "Trinken Sie Alkohol?", "Wie war Ihre Laune, von 1 (schlecht) bis 5 (gut)?",
                          "Was davon hatten Sie?", "Wie alt sind Sie?"],
           ["ja", "nein"], ["Husten", "Fieber", "Ausschlag"]),
    "ar": ("أسبوعك", ["هل تدخّن؟", "هل تشرب الكحول؟", "كيف كان مزاجك، من 1 (سيئ) إلى 5 (جيد)؟", "ماذا أصابك من هذه؟",
                      "كم عمرك؟"], ["نعم", "لا"], ["سعال", "حمّى", "طفح جلدي"]),
}  # fmt: skip


def week(language: str) -> dc.Questionnaire:
    """A questionnaire in a language, with every kind of field."""
    _, (smokes, drinks, mood, ill, age), said, symptoms = ASKED[language]
    return dc.Questionnaire(
        [
            dc.Choice("smokes", said, text=smokes, margin=0.12),
            dc.Choice("drinks", said, text=drinks, margin=0.12),
            dc.Choice("mood", [1, 2, 3, 4, 5], text=mood, margin=0.12),
            dc.Ticks("ill", symptoms, text=ill, margin=0.12),
            dc.Number("age", 18, 98, margin=4, text=age),
        ],
        3.0,
        refusal=True,
        tables=[("smokes", "drinks")],
    )
