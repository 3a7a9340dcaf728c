"""Words a question is made of and an answer isn't. Only queries drop them."""

_ENGLISH = """
a about am an and any are as at be been being but by can could did do does doing for from had has have
having he her hers him his how i if in into is it its itself just ll me my myself of on or our ours
please re s say shall she should so some t tell than that the their them then there these they this
those to too us ve very was we were what when where which who whom whose why will with would you
your yours yourself
"""

_CHINESE = "的了是我你他她它们吗呢吧啊呀在有和与就都也很这那哪什么怎谁个为请问把被"

_RUSSIAN = "а в во и из к как кто ли мне мой моя мы на не но о он она оно по с со то ты у что это я"

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_CHINESE) | frozenset(_RUSSIAN.split())
