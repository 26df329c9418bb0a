on run argv
    set target to item 1 of argv
    tell application "Notes"
        repeat with one in notes
            do shell script "mkdir -p " & quoted form of target
            do shell script "printf %s " & quoted form of (body of one as text) & " > " & quoted form of (target & "/" & (name of one as text) & ".html")
        end repeat
    end tell
end run
