assistant ask 'when does the tide turn on Friday?'
session dfy
