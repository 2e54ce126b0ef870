extension CompletionScript {
  static let fishText = #"""
    # Completion of serialq for fish. In config.fish: serialq completion fish | source

    function __serialq_complete
        set -l before (commandline -opc)
        set -l current (commandline -ct)
        set -e before[1]
        set -l lines (command serialq completion -- words $before "$current" 2>/dev/null)
        set -l head (string split ' ' -- $lines[1])
        set -e lines[1]
        switch "$head[1]"
            case words
                printf '%s\n' $lines
            case files directories
                set -l kept (string sub -l $head[2] -- "$current")
                set -l name (string sub -s (math $head[2] + 1) -- "$current")
                if test $head[1] = files
                    printf "$kept%s\n" (__fish_complete_path "$name")
                else
                    printf "$kept%s\n" (__fish_complete_directories "$name" '')
                end
            case command
                set -l words
                if test $head[2] -le (count $before)
                    set words (string escape -- $before[$head[2]..-1])
                end
                complete -C (string join ' ' -- $words "$current")
        end
    end

    complete -c serialq -f -k -a '(__serialq_complete)'

    """#
}
