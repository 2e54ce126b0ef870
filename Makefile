# SwiftPM builds everything; these are the usual entry points. PREFIX and DESTDIR: see Scripts/install.
.PHONY: all test install uninstall

all:
	Scripts/build

test:
	swift test

install:
	Scripts/install

uninstall:
	Scripts/install --uninstall
