fact 'The router is in the hall'
fact 'The garden gate is stiff'
fact 'The bins go out on Monday'
