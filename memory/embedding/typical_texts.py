"""Everyday questions and statements in English and Chinese, from which the local embedder learns what all of them share.

Question and answer differ in what makes one a question and the other a statement. The embedder subtracts the mean of these
texts from its vectors, which leaves what a text is about. Each question is answered by the statement at the same position.
"""

from typing import Final


_ENGLISH_QUESTIONS: Final = """
When does the course begin?
Who wrote the report?
Where did we put the spare keys?
What is the wifi password?
Which version are we using?
How do I reset the device?
Why was the order cancelled?
How much did the repair cost?
What did she say about the contract?
Is the shop open on Sunday?
Do I have any plans for the weekend?
Which color does he like best?
How long does the trip take?
What is my favorite film?
Who is responsible for the budget?
Where can I find the manual?
Did the customer accept the offer?
What should I buy for her birthday?
How many people came to the party?
When was the last backup made?
Can I cancel the subscription?
What time is the next train?
Which books have I read?
Does he speak French?
What went wrong during the test?
Who should I call in an emergency?
Where does my brother work?
What is the address of the hotel?
Am I free on Friday afternoon?
How does the new process work?
What are my goals for this year?
Which medicine do I take?
Why do we need two accounts?
Who did I meet in Paris?
What is the limit for uploads?
Would a smaller size be better?
How is my father doing?
What did the doctor recommend?
Should I bring an umbrella?
Which team won the game?
"""

_ENGLISH_STATEMENTS: Final = """
The course begins on the second of May.
Peter wrote the report about sales.
The spare keys are in the blue drawer.
I changed the wifi password yesterday.
We are using version three in production.
Hold the button for five seconds to reset the device.
The order was cancelled because the address was wrong.
The repair cost two hundred dollars.
She wants to sign the contract next month.
The shop is closed on Sundays.
We are going hiking at the weekend.
His favorite color is green.
The trip takes about three hours.
I have seen that film five times.
Maria is responsible for the budget.
The manual is on the shelf in the kitchen.
The customer accepted our offer.
She would like a camera for her birthday.
Twelve people came to the party.
The last backup was made on Monday night.
I cancelled my subscription to the newspaper.
The next train leaves at ten past four.
I am reading a book about history.
He speaks French and a little Spanish.
The test failed because a file was missing.
In an emergency, call my wife first.
My brother works for a bank.
The hotel is near the station.
I have a dentist appointment on Friday.
New requests are checked by two people.
This year I want to learn to swim.
I take a tablet for my blood pressure.
We keep one account for taxes only.
I met Laura at a conference in Paris.
Uploads are limited to ten megabytes.
The shoes were too small, so I returned them.
My father is feeling better now.
The doctor told me to rest for a week.
It will rain all day tomorrow.
Our team won the game by two goals.
"""

_CHINESE_QUESTIONS: Final = """
课程什么时候开始？
报告是谁写的？
备用钥匙放在哪里了？
无线网密码是什么？
我们用的是哪个版本？
怎么重置设备？
订单为什么被取消了？
修理花了多少钱？
关于合同她说了什么？
商店星期天开门吗？
周末我有什么安排？
他最喜欢哪种颜色？
路上要多长时间？
我最喜欢的电影是什么？
谁负责预算？
说明书在哪儿能找到？
客户接受报价了吗？
她生日我该买什么？
聚会来了多少人？
上一次备份是什么时候做的？
订阅可以取消吗？
下一班火车几点开？
我读过哪些书？
他会说法语吗？
测试中出了什么问题？
遇到紧急情况应该给谁打电话？
我哥哥在哪儿工作？
酒店的地址是什么？
星期五下午我有空吗？
新流程是怎样的？
我今年的目标是什么？
我在吃什么药？
为什么需要两个账户？
我在巴黎见了谁？
上传的限制是多少？
小一点的尺寸会不会更好？
父亲身体怎么样？
医生有什么建议？
我需要带伞吗？
哪个队赢了比赛？
"""

_CHINESE_STATEMENTS: Final = """
课程五月二日开始。
销售报告是小张写的。
备用钥匙在蓝色抽屉里。
昨天我改了无线网密码。
生产环境用的是第三版。
按住按钮五秒可以重置设备。
订单因为地址错误被取消了。
修理花了两百块。
她想下个月签合同。
商店星期天不营业。
周末我们去爬山。
他最喜欢绿色。
路上大约要三个小时。
那部电影我看了五遍。
小陈负责预算。
说明书在厨房的架子上。
客户接受了我们的报价。
她生日想要一台相机。
聚会来了十二个人。
上一次备份是星期一夜里做的。
我取消了报纸的订阅。
下一班火车四点十分开。
我在读一本历史书。
他会说法语和一点西班牙语。
测试失败是因为缺一个文件。
遇到紧急情况先给我妻子打电话。
我哥哥在银行工作。
酒店在车站旁边。
星期五我约了牙医。
新申请要由两个人审核。
今年我想学会游泳。
我在吃降血压的药。
有一个账户只用来交税。
我在巴黎的会议上认识了小刘。
上传文件不能超过十兆。
鞋子太小，我退货了。
父亲现在好多了。
医生让我休息一个星期。
明天一整天都会下雨。
我们队赢了两个球。
"""


def _split(*blocks: str) -> tuple[str, ...]:
    return tuple(line for block in blocks for line in block.strip().splitlines())


TYPICAL_QUESTIONS: Final = _split(_ENGLISH_QUESTIONS, _CHINESE_QUESTIONS)
TYPICAL_STATEMENTS: Final = _split(_ENGLISH_STATEMENTS, _CHINESE_STATEMENTS)
