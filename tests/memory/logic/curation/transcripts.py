"""Two hundred messages of a team's chat: a few facts, some said twice, in a lot of talk."""

from random import Random


# Worth remembering; told once, and some told again in nearly the same words.
FACTS = [
    "Remember that the staging database is restored every Monday night.",
    "My daughter Mia starts school in Lyon on 1 September.",
    "We decided to use PostgreSQL 18 instead of MongoDB.",
    "The production API only accepts TLS 1.3.",
    "Our customer Acme prefers invoices in CHF.",
    "The outage on 3 May was caused by an expired certificate.",
    "I am allergic to peanuts, so lunch must be nut-free.",
    "The deadline for the tax report is 31 March.",
    "Bob lives in Berlin and works for the design team.",
    "Deployments are forbidden on Fridays because support is thin.",
    "The export job fails when a name contains a semicolon.",
    "Raising the pool size to 40 fixed the timeouts.",
    "The user prefers dark mode and short answers.",
    "Our office moved to Hafenstrasse 12 in Hamburg.",
    "The VPN requires a hardware token since January.",
    "用户喜欢喝绿茶，不喝咖啡。",
    "我们决定每周三下午三点开例会。",
    "服务器的备份存放在上海机房，因为法规要求。",
]
REPEATED = [
    "remember that the staging database is restored every Monday night",
    "We decided to use PostgreSQL 18 instead of MongoDB!",
    "The production API only accepts TLS 1.3",
    "the deadline for the tax report is 31 March.",
    "用户喜欢喝绿茶，不喝咖啡",
    "The user really prefers dark mode and short answers.",
]

JUNK = [
    "Hi there!", "Good morning everyone", "hello", "hey :)", "你好", "早上好！", "Bye!", "See you tomorrow",
    "Thanks!", "Thank you so much for your help", "thx", "You're welcome!", "谢谢！", "不客气", "Cheers mate",
    "ok", "Okay, sounds good.", "Sure", "Got it.", "I see", "Great!", "Perfect, that works for me.", "好的", "嗯嗯",
    "明白了", "收到", "Yes", "No problem", "Haha", "lol", "Wow, nice", "Makes sense.", "Fair enough", "Absolutely!",
    "How are you today?", "What do you think?", "Can you help me with something?", "Is it working now?", "在吗？",
    "你觉得呢？", "Could you check again?", "Did you see my message?", "Anything else?", "Shall we start?",
    "Let me check that for you.", "One moment please", "I'll look into it right away.", "Working on it...",
    "Searching for the answer…", "Here is what I found:", "Just a second", "请稍等", "正在处理……", "让我看看",
    "I hope this helps!", "Feel free to ask if you have other questions.", "Let me know if you need anything else.",
    "Happy to help with that!", "Have a great day!", "还有什么可以帮您的吗？", "希望对你有帮助！", "祝你愉快",
    "As an AI language model, I don't have personal opinions.", "作为一个人工智能助手，我没有感情。",
    "The weather is lovely today", "How was your weekend?", "I'm so tired today", "I'm back", "Sorry, my bad",
    "That's interesting!", "It's fine, no worries", "What a day", "哈哈哈", "天气真好啊", "好累啊", "不好意思",
    "Loading model weights 45%", "Step 3 of 10 complete", "Downloading package 12/40 files", "Processing...",
    "2026-01-05 12:33:01 INFO worker started", "[DEBUG] cache miss for key 7f3a", "12:01:55 GET /health 200",
    "Traceback (most recent call last):", '  File "app.py", line 10, in <module>', "    at com.foo.Bar(Bar.java:12)",
    "import os", "def main():", "return x + 1;", "const a = 3;", "$ ls -la", "```", "}", "<div class='x'>",
    "https://example.com/funny-cat.gif", "👍", "🎉🎉🎉", "...", "+1", "?", "hmm", "brb", "afk", "same here",
    "let's go", "and then", "you know", "right?", "well well", "nice one", "me too", "oh no", "hold on",
]  # fmt: skip


def messages(seed: int = 7, total: int = 200) -> list[str]:
    """Always the same two hundred for a seed; junk repeats, as it does."""
    random = Random(seed)
    junk = [random.choice(JUNK) for _ in range(total - len(FACTS) - len(REPEATED))]
    made = [*FACTS, *REPEATED, *junk]
    random.shuffle(made)
    return made
