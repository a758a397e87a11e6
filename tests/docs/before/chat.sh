picture cat.png
