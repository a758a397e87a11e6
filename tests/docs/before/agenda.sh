fact 'Choir every Thursday at 19:30'
