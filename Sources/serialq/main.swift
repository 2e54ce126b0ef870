import SerialqCLI

Program.main()
