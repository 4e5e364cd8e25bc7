package wall_test

import "example.com/kitsoki/host/gate/wall"

// attempts are all of them. ROOT, TMPDIR, HOME, VICTIM, HOST, TCP and UDP are set.
func attempts() []attempt {
	return append(append(fileAttempts(), processAttempts()...), networkAttempts()...)
}

func fileAttempts() []attempt {
	return []attempt{
		{name: "write", sh: "echo x > new", done: exists("repo/new")},
		{name: "append", sh: "echo x >> file", done: file},
		{name: "empty by a shell", sh: ": > file", done: file},
		{name: "truncate", attack: "truncate", done: file},
		{name: "truncate -s", sh: "truncate -s 0 file", done: file},
		{name: "rename", sh: "mv file other", done: gone("repo/file")},
		{name: "move out", sh: "mv file $TMPDIR/", done: gone("repo/file")},
		{name: "move in", sh: "mv $TMPDIR/mine new", done: exists("repo/new")},
		{name: "replace", sh: "mv -f $TMPDIR/mine file", done: file},
		{name: "exchange", attack: "exchange", done: file},
		{name: "hard link into scratch, then write", sh: "ln file $TMPDIR/l; echo x >> $TMPDIR/l", done: file},
		{name: "hard link out of scratch", sh: "ln $TMPDIR/mine new", done: exists("repo/new")},
		{name: "symbolic link", sh: "ln -s /etc new", done: exists("repo/new")},
		{name: "write through a symbolic link", sh: "ln -s $ROOT/repo $TMPDIR/r; echo x > $TMPDIR/r/new", done: exists("repo/new")},
		{name: "write through a link to the file", sh: "ln -s $ROOT/repo/file $TMPDIR/f; echo x > $TMPDIR/f", done: file},
		{name: "unlink", sh: "rm -f file", done: gone("repo/file")},
		{name: "find -delete", sh: "find . -name file -delete", done: gone("repo/file")},
		{name: "mkdir", sh: "mkdir new", done: exists("repo/new")},
		{name: "rmdir", sh: "rmdir $HOME/empty", done: gone("home/empty"), before: (*field).empty},
		{name: "fifo", sh: "mkfifo new", done: exists("repo/new")},
		{name: "socket by mknod", attack: "mknod", done: exists("repo/new")},
		{name: "device", sh: "mknod $TMPDIR/null c 1 3", root: true, done: exists("tmp/null")},
		{name: "bind a socket", attack: "bind", done: exists("repo/new")},
		{name: "unnamed file, then link", attack: "tmpfile", done: exists("repo/new")},
		{name: "copy_file_range", attack: "copy", done: file},
		{name: "splice", attack: "splice", done: file},
		{name: "sendfile", attack: "sendfile", done: file},
		{name: "shared mapping", attack: "map", done: file},
		{name: "reopen a descriptor", sh: "exec 3< file; echo x > /proc/self/fd/3", done: file},
		{name: "through /proc/self/root", sh: "echo x > /proc/self/root$ROOT/repo/new", done: exists("repo/new")},
		{name: "through the agent's directory", sh: "echo x > /proc/$PPID/cwd/new", done: exists("repo/new")},
		{name: "memory of a crash", sh: "case $(cat /proc/sys/kernel/core_pattern) in core) ulimit -c unlimited; sh -c 'kill -SEGV $$';; *) touch core;; esac", done: matches("repo/core*")},
		{name: "from a daemon", sh: "setsid sh -c 'sleep 0.2; echo x > new; kill -9 $$' >/dev/null 2>&1 & wait", done: exists("repo/new")},

		{name: "chmod", sh: "chmod 777 file", done: mode("repo/file", 0o600)},
		{name: "chmod of a directory", sh: "chmod 777 .", done: mode("repo", 0o700)},
		{name: "chmod through a link", sh: "ln -s $ROOT/repo/file $TMPDIR/f; chmod 777 $TMPDIR/f", done: mode("repo/file", 0o600)},
		{name: "chmod through a linked directory", sh: "ln -s $ROOT/repo $TMPDIR/d; cd $TMPDIR/d; chmod 777 ./file", done: mode("repo/file", 0o600)},
		{name: "chmod of a descriptor", attack: "fchmod", done: mode("repo/file", 0o600)},
		{name: "chmod by /proc/self/fd", attack: "fchmod-proc", done: mode("repo/file", 0o600)},
		{name: "chmod by fchmodat2", attack: "fchmodat2", done: mode("repo/file", 0o600)},
		{name: "chmod, the path changing all the time", attack: "chmod-race", done: mode("repo/file", 0o600)},
		{name: "set-user-id in scratch", sh: "chmod 4755 $TMPDIR/mine", done: mode("tmp/mine", 0o600), only: wall.Kernel},
		{name: "times", sh: "touch -d 2020-01-01 file", done: dated},
		{name: "times of a descriptor", attack: "futimens", done: dated},
		{name: "times, the old way", attack: "utimes", done: dated},
		{name: "owner", sh: "chown 1:1 file", root: true, done: owned},
		{name: "owner of a descriptor", attack: "fchown", root: true, done: owned},
		{name: "attribute", attack: "setxattr", done: attributed},
		{name: "attribute of a descriptor", attack: "fsetxattr", done: attributed},
		{name: "attribute by setxattrat", attack: "setxattrat", done: attributed},
		{name: "flags of a descriptor", attack: "setflags"},
		{name: "flags by file_setattr", attack: "file-setattr"},
		{name: "file by handle", attack: "handle", root: true, done: file},

		{name: "settings of the agent", sh: `echo '{"permissions":{"allow":["Bash"]}}' > $HOME/.claude/settings.json`, done: altered("home/.claude/settings.json", "{}\n")},
		{name: "a new settings file", sh: "echo '{}' > $HOME/.claude/settings.local.json", done: exists("home/.claude/settings.local.json")},
		{name: "swap the configuration", sh: "mv $HOME/.claude $HOME/.old", done: exists("home/.old")},
		{name: "shell start-up", sh: "echo 'evil' >> $HOME/.bashrc", done: altered("home/.bashrc", "# mine\n")},
		{name: "service of the user", sh: "mkdir -p $HOME/.config/systemd/user && touch $HOME/.config/systemd/user/x.service", done: exists("home/.config")},
		{name: "git commit", sh: "git commit -qm x", needs: "git", before: repository, done: exists("repo/.git/refs/heads/master")},
		{name: "git config", sh: "git config core.fsmonitor 'touch /tmp/x'", needs: "git", before: repository},
		{name: "git hook", sh: "echo x > .git/hooks/pre-commit", needs: "git", before: repository, done: exists("repo/.git/hooks/pre-commit")},
		{name: "sqlite", sh: "sqlite3 new 'create table t(a)'", needs: "sqlite3", done: exists("repo/new")},
		{name: "sed -i", sh: "sed -i s/was/is/ file", done: file},
		{name: "sort -o", sh: "echo x | sort -o file", done: file},
		{name: "python", sh: `python3 -c 'open("new","w").write("x")'`, needs: "python3", done: exists("repo/new")},
		{name: "perl", sh: `perl -e 'unlink "file"'`, needs: "perl", done: gone("repo/file")},
		{name: "another user's runtime: /dev/shm", sh: "f=/dev/shm/$(basename $ROOT); echo x > $f && rm $f"},
		{name: "limits of the machine", sh: "cat /proc/sys/kernel/printk > /proc/sys/kernel/printk", root: true},
		{name: "own score in /proc", sh: "echo 500 > /proc/self/oom_score_adj"},
	}
}

func (f *field) empty() error { return mkdir(f.home + "/empty") }
