assistant ask 'who repairs the pipes in my flat?'
session k7q
