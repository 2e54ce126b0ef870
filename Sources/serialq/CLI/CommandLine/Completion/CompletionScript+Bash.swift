extension CompletionScript {
  /// Supports bash 3.2 and later, with or without the bash-completion package.
  static let bashText = #"""
    # Completion of serialq for bash. In ~/.bashrc: eval "$(serialq completion bash)"

    _serialq() {
      local -a words=() starts=() found=() meanings=()
      local word meaning kind number action current cut='' kept name longest=0 n=0 i
      COMPREPLY=()
      # bash takes --queue=video apart at the = , which then is a word of its own.
      for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((n)) && [[ ${words[n - 1]} == --* && ($word == = || ${COMP_WORDS[i - 1]} == =) ]]; then
          words[n - 1]+=$word
        else
          words[n]=$word starts[n]=$i
          ((n += 1))
        fi
      done
      current=${words[n - 1]}
      # Only what follows the last break is replaced.
      if [[ $COMP_WORDBREAKS == *=* && $current == --*=* ]]; then cut=${current%%=*}=; fi

      {
        read -r kind number
        case $kind in
          words)
            while IFS=$'\t' read -r word meaning; do
              [[ $word == "$current"* ]] || continue
              found+=("${word#"$cut"}")
              meanings+=("$meaning")
              if ((${#word} - ${#cut} > longest)); then longest=$((${#word} - ${#cut})); fi
            done
            ;;
          files | directories)
            action=-f
            [[ $kind == directories ]] && action=-d
            kept=${current:0:number}
            name=${current:number}
            [[ $name == [\"\']* ]] && name=${name:1}
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do
              COMPREPLY+=("${kept#"$cut"}$word")
            done < <(compgen "$action" -- "$name" 2>/dev/null)
            return
            ;;
          command)
            number=${starts[number - 1]}
            if declare -F _comp_command_offset >/dev/null; then
              _comp_command_offset "$number"
            elif declare -F _command_offset >/dev/null; then
              _command_offset "$number"
            else
              action=-f
              ((number == COMP_CWORD)) && action=-c
              while IFS= read -r word; do
                COMPREPLY+=("$word")
              done < <(compgen "$action" -- "$current" 2>/dev/null)
            fi
            return
            ;;
        esac
      } < <(command serialq completion -- words "${words[@]}" 2>/dev/null)

      compopt -o nosort 2>/dev/null
      # What words mean is for the list that is shown, and not for the line that is typed.
      if ((${#found[@]} > 1)) && [[ $COMP_TYPE == 63 || $COMP_TYPE == 33 || $COMP_TYPE == 64 ]]; then
        for i in "${!found[@]}"; do
          printf -v word '%-*s  %s' "$longest" "${found[i]}" "${meanings[i]}"
          [[ ${meanings[i]} ]] || word=${found[i]}
          COMPREPLY+=("${word:0:${COLUMNS:-80} - 1}")
        done
      else
        COMPREPLY=(${found[@]+"${found[@]}"})
      fi
    }

    complete -F _serialq serialq

    """#
}
