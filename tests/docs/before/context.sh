fact 'I am allergic to nuts'
assistant ask 'and the key'
session j6u
