package classify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Commands from reports about tools of this kind, and what leads out of the directory.
func TestCommandsThatAreAsked(t *testing.T) {
	c := house(t)
	for command, want := range map[string]Effect{
		"ls & touch P": Write, "ls\ntouch P": Write, // G1
		"sort -S1b --compress-program sh big": Write, "rg --pre sh x": Write, "man -Psh ls": Write, // G2
		"git diff --output=P": Write, "git log --outp=P": Write, // G3
		"git status && git push": External, "git status && rm x": Write, // G4
		"find . -delete": Write, "sort -o P a.txt": Write, "git branch x": Write,

		"cat /etc/hostname": Read, "cat ../outside/x": Read, "cat away/x": Read, "cat .env": Read, "cat harmless.txt": Read, "head -n 1 key/id": Read, "cat /dev/stdin": Read,
		"cat /proc/self/environ": Read, "ls /": Read, "find / -name x": Read, "find .. -name x": Read, "grep -r x ..": Read, "grep -e x .env": Read, "grep -f .env x": Read, "grep -ex .env": Read,
		"cd .. && ls": Read, "cd away && cat x": Read, "cd src && cat ../../outside/x": Read, "cd src; cat ../a.txt; cd ..; cat ../x": Read, "git -C .. status": Read,
		"printenv": Read, "jq env a.txt": Read, "jq -n '$ENV.HOME'": Read, "ps eww": Read, "ps -o pid,environ": Read, "git show HEAD:.env": Read, "git diff -- .env": Read, "git diff ../outside/a ../outside/b": Read,
		"diff . src": Read, "stat loop": Read, "git -C away log": Read, "realpath --relative-to=/etc a.txt": Read, "git show HEAD:secrets/x": Read,

		"strings @a.txt": Write, "cd": Write, "cd -": Write, "cd ~": Write, "cat ~/x": Write, "cat $HOME/x": Write, "env": Write, "less a.txt": Write, "vi a.txt": Write, "awk 1 a.txt": Write,
		"./ls": Write, "/bin/ls": Write, `\ls`: Write, "'ls'": Write, "command ls": Write, "builtin pwd": Write, "sed -n '1p;w P' a.txt": Write, "sed -n /x/p a.txt": Write, "sed p a.txt": Write,
		"git log --format=%G?": Write, "git log --pretty='%h %GK'": Write, "git for-each-ref --format='%(signature)'": Write, "git config user.name x": Write, "git config edit": Write, "git config a.b --get": Write, "git tag x -l": Write, "xxd a.txt -p": Write, "uniq a.txt -c": Write, "seq 1 2 3 -w": Write,
		"git tag x": Write, "git reflog expire": Write, "git stash": Write, "git grep -O x": Write, "git -c a=b status": Write, "git --git-dir=x status": Write, "git --no-pager -p log": Write,
		"date 010112002026": Write, "hostname x": Write, "uniq a b": Write, "xxd a b": Write, "find a -name x b": Write, "ls | cd src": Write, "test -v x": Write, "[ -v x ]": Write, "[ 1 -eq x ]": Write,
		"echo a &": Write, "ls # x": Write, "go env": Write, "go env GOGCCFLAGS": Write, "node x.js --version": Write, "python3 --version x": Write, "tree -R -L 1 -H . -o P": Write,
		"printf '%d' 'a[$(x)]'": Write, "printf -v x y": Write, "printf 'abc%n' PATH": Write, "printf %*d 1 2": Write, "go version x": Write, "cargo --version": Write, "npm --version": External, "git ls-files --outp": Write, "ls --colo": Write,

		"npm install x": External, "pip install x": External, "cargo publish": External, "go get x": External, "gh pr list": External, "docker ps": External, "kubectl get pods": External,
		"aws s3 ls": External, "ssh x ls": External, "rsync -a . h:x": External, "scp a h:b": External, "nc h 1": External, "git fetch": External, "git frobnicate": External,
		"sh -c 'sh -c \"curl x\"'": External, "xargs curl": External, "$(echo ls)": External, "$CMD x": External, "exec 3<>$X": External, "echo a > /dev/$P/h/1": External, "echo x | bash": External, "curl x |": External, "exec 3<>/dev/tcp/h/1": External,
		"if x; then wget y; fi": External, "f() { curl x; }; f": External, "timeout 5 env A=b nice curl x": External, "find . -exec curl {} ';'": External, "python3 -c 'import socket'": External,
		"git rebase -x 'curl x' HEAD": External, "eval 'cu''rl x'": External, "echo $(curl x)": External, "sudo curl x": External, "find . -exec $X ';'": External, "env /usr/bin/cur? x": External, "mail x": External, "npx x": External, "bash -c \"$X\"": External,
		"git -C x push": External, "git --git-dir=x push": External, "git remote show o": External, "git archive --remote=h x": External, "tar cf h:x .": External, "openssl s_client -connect h:1": External,

		"git commit -m 'curl it, then git push'": Write, "echo 'curl x' > notes.txt": Write, "mkdir docker": Write, "grep -rn curl . > out": Write, "awk '{print $1}' a.txt": Write, "git remote add o x": Write,
		"make test": Write, "go build ./...": Write, "go test ./...": Write, "npm test": Write, "npm run build": Write, "python3 x.py": Write, "rm -rf *.o": Write, "cp -r src/* out/": Write, "cat > x <<E\ncurl y\nE": Write, "find . -name *.go > x": Write, "find . -path './.git/*' > x": Write,
	} {
		v := c.of(t, command)
		if v.Effect != want || v.Free() {
			t.Errorf("%q is %s, asked: %v (%s); want %s", command, v.Effect, v.Ask, v.Reason, want)
		}
		if v.Command != command || v.Reason == "" {
			t.Errorf("%q: %+v", command, v)
		}
	}
}

func TestWhereACommandWrites(t *testing.T) {
	c := house(t)
	v := c.of(t, "echo a > src/x; echo b >> away/y")
	if v.Effect != Write || !v.Guarded || len(v.Paths) != 2 || v.Paths[0] != c.Dir+"/src/x" || !strings.HasSuffix(v.Paths[1], "/outside/y") {
		t.Errorf("%+v", v)
	}
	if v := c.of(t, "git status"); !v.Free() || !v.Hardened {
		t.Errorf("%+v", v)
	}
	if v := c.of(t, "ls"); v.Hardened {
		t.Errorf("%+v", v)
	}
}

// What is too long, too deep or too much is asked, and soon.
func TestJudgingIsBounded(t *testing.T) {
	t.Parallel()
	c := house(t)
	start := time.Now()
	for _, command := range []string{
		"echo " + strings.Repeat("a", longestCommand), strings.Repeat("(", 16000), strings.Repeat("$(", 8000), strings.Repeat("ls && ", 2500) + "ls", strings.Repeat("{ ", 8000), strings.Repeat("cd src || ", 1500) + "ls",
		strings.Repeat("env ", 4000) + "x", strings.Repeat("sh -c 'env ", 1400), strings.Repeat("a\\", 8000), "echo " + strings.Repeat(`"$(echo `, 1500), strings.Repeat("ls | ", 3000) + "ls", strings.Repeat("`", 16000), strings.Repeat("<<a ", 4000),
		strings.Repeat("eval ", 3000) + "ls", strings.Repeat("'a b' ", 2700),
	} {
		if v := c.of(t, command); v.Free() {
			t.Errorf("passes: %.40s…", command)
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestAFaultOfItsOwnIsExternal(t *testing.T) {
	for _, c := range []Call{{}, {Tool: "Bash", Dir: "x"}, {Tool: "Read", Input: json.RawMessage(`{"file_path":"a"}`)}, {Tool: "Bash", Dir: "/", Input: nil}} {
		if v := Classify(c); v.Effect != External {
			t.Errorf("%+v is %s", c, v.Effect)
		}
	}
	if !Write.Less(Effect("other")) || Max(Read, "") != "" || Max(External, Write) != External || Read.Less(Read) {
		t.Error("an effect that is not known must be the greatest")
	}
}
