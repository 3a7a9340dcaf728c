"""The rules of the filter for instructions: each has a name and a pattern that is linear in the length of a text."""

import re


_EARLIER = (
    r"(?:previous|prior|preceding|earlier|above|existing|original|initial|former|foregoing"
    r"|your|system|all)"
)
_INSTRUCTIONS = (
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|commands?|directives?"
    r"|constraints?|messages?|context|training)"
)
_GAP = r"(?:[^.!?]|\.(?=\w)){0,40}?"
_SHORT_GAP = r"[^.!?,;\n]{0,30}?"
_NOT_OWN = r"(?!(?: of)? (?:my|our|mine)\b)"
# The rest of an address up to a place that is to be filled with data.
_PLACEHOLDER = (
    r"[^\s)\"'>{}\[\]<$]{1,300}?(?:\{[^}\n]{1,60}\}|%7b|\[[a-z][^\]\n]{1,60}\]|<[a-z][^>\n]{1,60}>|\$[a-z_{(]"
    r"|(?<=[=/_-])(?:insert|your|conversation|chat|base64|urlencoded|encoded|secrets?|passwords?|api_?key)"
    r"[_-](?:\w|-){2,40})"
)
_TO_ADDRESS = r"\b(?:to|at)\b[^!?\n]{0,40}?(?:\w@\w|https?://|\bwebhook\b|\bendpoint\b)"


def _build_rule(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern)


INSTRUCTION_RULES = (
    _build_rule(
        "ignore instructions",
        # An instruction, not a report: no "she ignored", no "don't ignore".
        rf"(?<!not )(?<!don't )(?<!never )\b(?:ignore|disregard|forget|override|bypass"
        rf"|discard|neglect)\b(?! me)\s+"
        rf"(?:any |all |the |of |each |every |everything |these |those |my "
        rf"|and )*{_EARLIER}\b{_GAP}\b{_INSTRUCTIONS}\b",
    ),
    _build_rule(
        "ignore instructions",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:above|before"
        r"|you (?:were|have been) told|(?:that )?(?:was|has been|i) said)",
    ),
    _build_rule(
        "ignore instructions",
        # Only instructions given before are meant: "Forget what you were told about fat" is a headline.
        r"(?<!not )(?<!don't )(?<!never )\b(?:ignore|disregard|forget|discard)\s+"
        r"(?:all |everything |anything )?(?:of )?(?:what(?:ever)? |that )?you(?:'ve| have| had)?"
        rf"(?: been| were) (?:told|instructed|asked|given|taught)\b{_GAP}\b(?:before|earlier"
        r"|previously|so far|until now|up to now|above|by (?:your|the) (?:system|developers?"
        r"|operators?|owners?|creators?|users?))\b",
    ),
    _build_rule(
        "ignore instructions",
        r"(?<!not )(?<!don't )(?<!never )\b(?:ignore|disregard|forget|override|bypass|discard)\s+"
        r"(?:any |all |the |of |each |every |your |these |those )*"
        rf"{_INSTRUCTIONS}\s+(?:that (?:is|are|came|come)\s+)?(?:above|before|preceding|so far|until now)\b",
    ),
    _build_rule(
        "ignore instructions",
        r"\bdo not follow\s+(?:any |the |your |all )*(?:previous|prior|above|original|system)\b",
    ),
    _build_rule(
        "new instructions",
        rf"\b(?:new|updated|revised|real|actual|secret"
        rf"|hidden)\s+(?:system\s+)?{_INSTRUCTIONS}\s*(?:follow\s*)?[:：]",
    ),
    _build_rule(
        "new instructions",
        r"\byour (?:(?:new|real|actual|true|only|updated) (?:main |primary )?(?:task|mission"
        r"|objective|goal|orders?|instructions?)|(?:task|mission|objective|goal) from now on)"
        r"\s+(?:is|are|will be)(?: now)?(?: to\b|\s*[:：])",
    ),
    _build_rule(
        "another role",
        r"\b(?:you are|you're) now\s+(?:an?|the|in (?:\w+ )?mode|going to|no longer|my|free"
        r"|unrestricted|dan)\b",
    ),
    _build_rule(
        "another role",
        r"\b(?:pretend|act|behave|respond|roleplay)\s+(?:to be|as if you|as though you"
        r"|as an? (?:unrestricted|different|evil|new)|like you (?:are|have))",
    ),
    _build_rule(
        "another role",
        r"\b(?:enter|enable|activate|switch (?:in)?to)\s+(?:developer|debug|god|admin|dan"
        r"|jailbreak|unrestricted|sudo)\s+mode\b",
    ),
    _build_rule(
        "reveal instructions",
        rf"\b(?:reveal|show|print|output|repeat|display|leak|disclose|tell me|give me|what (?:is"
        rf"|are))\b{_GAP}\byour\b{_GAP}(?:system prompt|system message|hidden prompt"
        rf"|initial (?:prompt|instructions)|instructions)",
    ),
    _build_rule(
        "hide from the person",
        r"\b(?:do not|don't|never|without)\s+(?:tell|telling|inform|informing|mention(?:ing)?"
        r"|alert(?:ing)?|notify(?:ing)?|let|show(?:ing)?|reveal(?:ing)?)\b(?:[^.!?]"
        r"|\.(?=\w)){0,40}?\b(?:the )?(?:user|human|operator|owner|person|anyone)\b",
    ),
    _build_rule(
        "markup of a prompt",
        r"<\|?\s*/?(?:system|im_start|im_end|endoftext|start_header_id|assistant)\s*\|?>"
        r"|\[/?inst\]|<<\s*/?sys\s*>>"
        r"|(?m:^)\s{0,3}(?:#{1,4}\s*(?:system|instruction)s?(?: prompt)?\s*:|(?:system"
        r"|assistant)\s*:\s*you (?:are|must|will)\b)",
    ),
    _build_rule(
        "send data away",
        r"\b(?:send|post|upload|forward|exfiltrate|transmit|email|leak|append|include"
        r"|embed)\b(?:[^.!?]|\.(?=\w)){0,80}?\b(?:conversation|chat history|memor(?:y|ies)"
        r"|credentials?|passwords?|api keys?|secrets?|tokens?|personal data|user(?:'s)? data"
        r"|everything you know)\b(?:[^.!?]|\.(?=\w)){0,80}?(?:\bto\b|\bat\b|\bin the\b)(?:[^.!?]"
        r"|\.(?=\w)){0,40}?(?:https?://|@|\burl\b|\baddress\b|\bserver\b|\bendpoint\b|\bwebhook\b"
        r"|\blink\b|\bimage\b)",
    ),
    _build_rule(
        "send data away",
        # All messages of others, to an address: "the minutes" or "all my mail" is the user's own request,
        # and "we forward all mail" a report.
        r"(?<!\bwe )(?<!\bi )(?<!\bthey )(?<!\bwill )(?<!\bcan )\b(?:forward|redirect|relay"
        r"|b?cc|exfiltrate|transmit|leak)\s+(?:me )?(?:a copy of )?"
        rf"(?:every|each|all|any){_NOT_OWN}\b{_SHORT_GAP}\b(?:messages?|e-?mails?|mails?"
        r"|conversations?|chats?|repl(?:y|ies)|answers?|responses?|prompts?|questions?|inputs?"
        rf"|documents?|files?|entr(?:y|ies)|notes?|data|information)\b{_GAP}{_TO_ADDRESS}",
    ),
    _build_rule(
        "send data away",
        r"(?<!\bwe )(?<!\bi )(?<!\bthey )(?<!\bwill )(?<!\bcan )\b(?:forward|redirect|relay|send"
        r"|post|upload|e-?mail|transmit|copy)\s+(?:everything|anything|whatever|all|every|each|any)"
        rf"{_NOT_OWN}\b{_SHORT_GAP}\b(?:the users?|(?:the )?user's|your (?:memor(?:y|ies)|context"
        r"|conversations?|chats?|notes|files)|(?:you|they|people) (?:know|see|read|receive|get|hear"
        rf"|learn|remember|say|writes?|tell|type|are told))\b{_GAP}{_TO_ADDRESS}",
    ),
    _build_rule(
        "remember an order",
        r"\b(?:remember|memori[sz]e|store|save|note|add|write)\b(?:[^.!?]|\.(?=\w)){0,60}?\b(?:in"
        r"|to|into|that|as)\b(?:[^.!?]|\.(?=\w)){0,60}?\b(?:you (?:must|should|always|will)"
        r"|always (?:recommend|prefer|trust|cite|use|say|answer|include|mention)"
        r"|never (?:recommend|trust|cite|use|say|mention)|(?:trusted|authoritative|reliable"
        r"|preferred|go-to) (?:source|authority|provider|vendor|expert))",
    ),
    _build_rule(
        "standing order",
        r"\b(?:from now on|in (?:all )?future (?:conversations|responses|answers|sessions|replies)"
        r"|whenever (?:the user|you|someone|anyone)|every time (?:the user|you|someone)|for (?:all"
        r"|every) (?:future|subsequent))\b(?:[^.!?]|\.(?=\w)){0,80}?\b(?:you (?:must|should|will"
        r"|shall|are to|need to)|always|never|recommend|reply|respond|say|answer|include|mention"
        r"|call|send)\b",
    ),
    _build_rule(
        "order to an assistant",
        r"\b(?:ai|llm|language model|assistant|chatbot|agent|gpt|claude|gemini"
        r"|copilot)s?\b(?:[^.!?]|\.(?=\w)){0,30}?\b(?:reading|processing|summari[sz]ing|seeing"
        r"|parsing) this\b|\b(?:attention|note|important|message|instructions?)\s*(?:to"
        r"|for)?\s*:?\s*(?:all |any |the |every )?(?:ai|llm|language model|assistant"
        r"|chatbot)s?(?: (?:assistant|model|agent|bot)s?)?\s*[:：,]",
    ),
    _build_rule(
        "claim of authority",
        # An instruction to trust something, not a report that somebody does.
        r"(?<!not )(?<!don't )(?<!never )(?<!we )(?<!i )(?<!they )(?<!you can )(?<!who )\b(?:trust|treat|regard"
        r"|consider|accept|take|view|cite)\b(?! me)(?:[^.!?\n]|\.(?=\w)){1,80}?\bas (?:an? |the |your |being |fully )?"
        r"(?:\w+ly )?(?:(?:only |single |most )?(?:authoritative|authority|trusted|trustworthy|ground truth|infallible"
        r"|official source|verified source|final word|system message|source of truth|reliable source))\b",
    ),
    _build_rule(
        "claim of authority",
        r"\b(?:this|the following|our|these|above|below)(?: (?:message|text|note|page|document|site|instructions?"
        r"|rules?))*\s+(?:is|are|comes?|has|have|takes?|overrides?|supersedes?)\b[^.!?\n]{0,40}?"
        r"\b(?:(?:from|by) (?:the |your )?(?:system administrators?|administrators?|developers?|operators?|openai"
        r"|anthropic|google|creators?)\b[^.!?\n]{0,60}?\b(?:must|obey|follow|comply|priority|authority)"
        r"|(?:highest|top|absolute|higher) (?:priority|authority) over\b[^.!?\n]{0,30}?"
        r"\b(?:instructions?|rules?|prompts?|messages?)"
        r"|(?:all|any|your) (?:other |previous |prior |earlier )?(?:instructions|rules|prompts|guidelines))",
    ),
    _build_rule(
        "claim of authority",
        r"\bas (?:your|the) (?:system )?(?:administrator|developer|operator|creator|owner),? i (?:order|command"
        r"|instruct|authori[sz]e|direct) you\b|\b(?:you (?:must|should) (?:always |only |fully )?(?:trust|believe"
        r"|obey))\b",
    ),
    _build_rule(
        "claim of authority",
        r"(?:请|你(?:必须|应该|要|应)|务必|一律|始终|总是)[^。!！?？\n]{0,8}?(?:把|将|视|信任|相信)[^。!！?？\n]{0,30}?"
        r"(?:视为|当作|当成|作为|看作|为)[^。!！?？\n]{0,8}?(?:权威|可信|可靠|唯一正确|最高优先)"
        r"|(?:信任|相信)[^。!！?？\n]{0,30}?(?:为|作为|是)(?:唯一)?(?:的)?(?:权威|可信来源|可靠来源)",
    ),
    _build_rule(
        "data in an address",
        # A picture or link whose address has a place for data, such as ?q={summary} or /[history].
        rf"(?:!?\[[^\]\n]{{0,200}}\]\(\s*<?|<(?:img|a|iframe)\b[^>\n]{{0,100}}?\b(?:src|href)\s*=\s*[\"']?)"
        rf"https?://{_PLACEHOLDER}",
    ),
    _build_rule(
        "data in an address",
        r"(?:!\[[^\]\n]{0,200}\]\(\s*<?|<(?:img|iframe)\b[^>\n]{0,100}?\bsrc\s*=\s*[\"']?)https?://"
        r"[^\s)\"'>?]{1,200}\?(?:[^\s)\"'>]{0,200}&)?(?:data|secrets?|leak|exfil\w{0,10}|payload|chat\w{0,10}"
        r"|conversation|history|memor(?:y|ies)|context|prompt|passwords?|summary|messages?|msg|stolen|info|content)=",
    ),
    _build_rule(
        "data in an address",
        r"\b(?:render|display|show|include|insert|load|fetch|embed|add|output|return|end|append|open|visit|request)\b"
        r"[^.!?\n]{0,60}?\b(?:image|picture|pixel|img|markdown|link|url)\b(?:[^.!?\n]|[.?!](?=\w|/)){0,80}?https?://"
        r"(?:[^.!?\n]|[.?!](?=[\w=&/{\[<])){0,160}?\b(?:replac(?:e|ing)|with|where|containing|followed by|encod(?:e|ed"
        r"|ing)|fill(?:ed|ing)?|plus|set to)\b[^.!?\n]{0,60}?\b(?:conversation|chat|history|messages?|memor(?:y|ies)"
        r"|summary|secrets?|passwords?|tokens?|keys?|data|e-?mail|name|question|user'?s?|prompt|context)\b",
    ),
    _build_rule(
        "order to use a tool",
        r"\b(?:you must|you should|immediately|now|then)\s+(?:call|invoke|use|run|execute"
        r"|trigger)\s+(?:the\s+)?[`'\"]?\w+[`'\"]?\s+(?:tool|function|command|plugin|action)\b",
    ),
    _build_rule(
        "ignore instructions",
        r"(?<!不要)(?<!不能)(?<!别)(?<!不得)(?:忽略|无视|忘记|忘掉|忽视|抛开|不要理会|不要遵守|覆盖|绕过)(?:掉"
        r"|了)?[^。!！?？\n]{0,12}?(?:之前|以前|先前|上述|上面|以上|前面|此前|原来|原有|系统|所有|你的|一切)[^。!！?？\n]{0,12}?(?:指令"
        r"|指示|提示|提示词|规则|设定|要求|限制|约束|命令|内容|对话)",
    ),
    _build_rule(
        "ignore instructions",
        r"(?<!不要)(?<!不能)(?<!别)(?<!不得)(?:忽略|无视|忽视|抛开|不要理会|不用理会|别管|不要管)(?:掉|了)?[^。!！?？\n]{0,8}?"
        r"(?:你(?:之前|以前|先前|此前)?(?:所)?(?:被告知|被要求|被教导|被吩咐)|(?:之前|以前|先前|此前|前面|刚才|过去)"
        r"[^。!！?？\n]{0,8}?(?:告诉|教|给|吩咐|交代|要求|命令)(?:过)?(?:了)?你)"
        r"|(?<!不要)(?<!不能)(?<!别)(?<!不得)(?:忘记|忘掉)(?:掉|了)?[^。!！?？\n]{0,8}?"
        r"(?:告诉|教|给|吩咐|交代|要求|命令|告知)[^。!！?？\n]{0,6}?(?:一切|所有|全部)",
    ),
    _build_rule(
        "new instructions",
        r"(?:新的?|最新|真正的?|隐藏的?)(?:系统)?(?:指令|指示|提示词|规则)(?:如下)?\s*[::]",
    ),
    _build_rule(
        "new instructions",
        r"你的(?:新的?|真正的?|唯一的?)(?:任务|目标|使命|职责|指令)(?:就)?(?:是|为|[::])"
        r"(?!\s*(?:什么|啥|谁|哪|几|否|不是))",
    ),
    _build_rule(
        "another role",
        r"你现在(?:开始)?(?:是|扮演|将作为|要扮演)(?:一个|一名|一位|我的|没有|不受)|(?:假装|扮演)(?:你)?(?:是|成)?(?:一个|一名)?(?:不受限制"
        r"|没有限制|没有任何限制)|(?:进入|开启|启用|切换到)(?:开发者|调试|管理员|越狱|上帝)模式",
    ),
    _build_rule(
        "reveal instructions",
        r"(?:输出|显示|告诉我|透露|打印|重复|泄露|展示)[^。!！?？\n]{0,12}?(?:你的)?(?:系统提示词?|系统消息|初始指令|隐藏指令|提示词)",
    ),
    _build_rule(
        "hide from the person",
        r"(?:不要|别|请勿|不得|无需)(?:告诉|通知|告知|提醒|让|向)(?:用户|使用者|对方|任何人|人类)",
    ),
    _build_rule(
        "send data away",
        r"(?:把|将)[^。!！?？\n]{0,20}?(?:对话|聊天记录|记忆|密码|密钥|凭据|令牌|数据|信息)[^。!！?？\n]{0,12}?(?:发送|上传|转发|提交"
        r"|传)(?:到|给|至)",
    ),
    _build_rule(
        "send data away",
        r"(?:把|将)(?!我)[^。!！?？我\n]{0,6}?(?:每一?[条封个次]|所有|全部|任何|一切)(?:的)?(?!我)"
        r"[^。!！?？我\n]{0,12}?(?:消息|邮件|来信|短信|回复|回答|提问|问题|文件|内容|资料|记录)"
        r"[^。!！?？\n]{0,8}?(?:转发|抄送|发送|上传|提交|发|传)(?:到|给|至)"
        r"[^。!！?？\n]{0,30}?(?:[\w.-]@\w|https?://)"
        r"|(?<!我们)(?<!我)(?<!他们)(?:转发|抄送)(?:每一?[条封个次]|所有|全部|任何|一切)(?:的)?(?!我)"
        r"[^。!！?？我\n]{0,12}?(?:消息|邮件|来信|短信|回复|回答|内容|资料|记录)"
        r"[^。!！?？\n]{0,8}?(?:到|给|至)[^。!！?？\n]{0,30}?(?:[\w.-]@\w|https?://)",
    ),
    _build_rule(
        "remember an order",
        r"(?:记住|牢记|记下|存入记忆|保存到记忆)[^。!！?？\n]{0,40}?(?:你必须|你应该|你要|总是推荐|始终推荐|一律|永远不要|可信来源|权威来源|首选)",
    ),
    _build_rule(
        "standing order",
        r"(?:从现在开始|从今以后|今后|以后每次|每当用户|每次用户|无论用户)[^。!！?？\n]{0,40}?(?:你必须|你要|必须|一律|总是|都要|不得|永远|推荐|回复|回答)",
    ),
)
