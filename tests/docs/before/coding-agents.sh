mkdir -p .config/zed
echo "{}" > .config/zed/settings.json
fact 'The spare key is with Ada, next door'
