extension CompletionScript {
  /// For a folder in `fpath`, or for `eval`.
  static let zshText = #"""
    #compdef serialq
    # Completion of serialq for zsh. In ~/.zshrc, after compinit: eval "$(serialq completion zsh)"

    _serialq() {
      local -a lines head found shown
      local line word
      integer longest=0
      lines=("${(@f)$(command serialq completion -- words \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
      head=(${=lines[1]})
      shift lines
      case $head[1] in
        words)
          for line in "${lines[@]}"; do
            word=${line%%$'\t'*}
            found+=("$word")
            ((${#word} > longest)) && longest=${#word}
          done
          (($#found)) || return 1
          for line in "${lines[@]}"; do
            word=${line%%$'\t'*}
            if [[ $line == *$'\t'* ]]; then word="${(r:longest:)word}  -- ${line#*$'\t'}"; fi
            shown+=("${word[1,COLUMNS-1]}")
          done
          compadd -V serialq -l -d shown -a found
          ;;
        files)
          compset -p $head[2]
          _files
          ;;
        directories)
          compset -p $head[2]
          _files -/
          ;;
        command)
          words=("${(@)words[head[2]+1,-1]}")
          ((CURRENT -= head[2]))
          _normal
          ;;
      esac
    }

    if [[ $funcstack[1] == _serialq ]]; then
      _serialq "$@"
    else
      compdef _serialq serialq
    fi

    """#
}
