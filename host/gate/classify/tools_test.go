package classify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// house is a working directory with a few links, a file of secrets and a neighbour.
func house(t *testing.T) Call {
	t.Helper()
	c := room(t)
	outside := filepath.Join(filepath.Dir(c.Dir), "outside")
	for name, target := range map[string]string{
		"away": outside, "far": "away/deeper/new", "loop": "loop", "self": ".", "key": c.Home + "/.ssh", "harmless.txt": ".env", "up": "../outside/..",
	} {
		if err := os.Symlink(target, filepath.Join(c.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.txt", ".env", "src/main.go"} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c Call) with(tool, input string) Verdict {
	c.Tool = tool
	c.Input = json.RawMessage(strings.NewReplacer("@DIR@", c.Dir, "@HOME@", c.Home).Replace(input))
	return Classify(c)
}

func TestToolsByName(t *testing.T) {
	c := house(t)
	for _, tc := range []struct {
		tool, input string
		effect      Effect
	}{
		{"TodoWrite", `{"todos":[]}`, Read},
		{"TodoWrite", `{"todos":[],"file":"x"}`, Write},
		{"ExitPlanMode", `{"plan":"x"}`, Read},
		{"ExitPlanMode", `{"plan":"x","allowedPrompts":[{"tool":"Bash","prompt":"all"}]}`, Write},
		{"Agent", `{"description":"x","prompt":"y","subagent_type":"z"}`, Read},
		{"Task", `{"description":"x","prompt":"y"}`, Read},
		{"Agent", `{"description":"x","prompt":"y","isolation":"worktree"}`, Write},
		{"Agent", `{"description":"x","prompt":"y","mode":"bypassPermissions"}`, Write},
		{"ToolSearch", `{"query":"x"}`, Read},
		{"TaskOutput", `{"task_id":"x","block":true}`, Read},
		{"BashOutput", `{"bash_id":"x"}`, Read},
		{"BashOutput", `not JSON`, Write},
		{"KillShell", `{"shell_id":"x"}`, Write},
		{"EnterWorktree", `{}`, Write},
		{"ExitWorktree", `{}`, Write},
		{"CronCreate", `{}`, Write},
		{"Skill", `{}`, Write},
		{"Workflow", `{}`, Write},
		{"SendMessage", `{}`, Write},
		{"TaskCreate", `{}`, Write},
		{"WebFetch", `{"url":"http://x"}`, External},
		{"WebSearch", `{"query":"x"}`, External},
		{"mcp__other__read", `{}`, External},
		{"mcp__operator__ask", `{}`, External},
		{"AskUserQuestion", `{}`, External},
		{"read", `{"file_path":"a.txt"}`, External},
		{"Read ", `{"file_path":"a.txt"}`, External},
		{"", `{}`, External},
		{"SomethingNew", `{}`, External},
		{"Bash", `{"command":"ls"}`, Read},
		{"Bash", `{"command":"ls","description":"x","timeout":5}`, Read},
		{"Bash", `{"command":"ls","run_in_background":false}`, Read},
		{"Bash", `{"command":"ls","run_in_background":true}`, Write},
		{"Bash", `{"command":"ls","run_in_background":"no"}`, Write},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, Write},
		{"Bash", `{"command":"ls","Command":"touch P"}`, Write},
		{"Bash", `{"command":"ls","command":"touch P"}`, External},
		{"Bash", `{"command":["ls"]}`, External},
		{"Bash", `{"command":""}`, External},
		{"Bash", `{"command":null}`, External},
		{"Bash", `{"command":"ls\u0000touch P"}`, External},
		{"Bash", `{"command":"ls\ud800"}`, External},
		{"Bash", "{\"command\":\"ls\xff\"}", External},
		{"Bash", `{"command":"ls"} {"command":"touch P"}`, External},
		{"Bash", `{"command":"ls"`, External},
	} {
		if v := c.with(tc.tool, tc.input); v.Effect != tc.effect {
			t.Errorf("%s %q is %s (%s), not %s", tc.tool, tc.input, v.Effect, v.Reason, tc.effect)
		}
	}
}

func TestFilesThatAreRead(t *testing.T) {
	c := house(t)
	for _, tc := range []struct {
		tool, input string
		free        bool
	}{
		{"Read", `{"file_path":"@DIR@/a.txt"}`, true},
		{"Read", `{"file_path":"a.txt","offset":1,"limit":2}`, true},
		{"Read", `{"file_path":"@DIR@/self/self/src/main.go"}`, true},
		{"Read", `{"file_path":"@DIR@/not/there"}`, true},
		{"Read", `{"file_path":"@DIR@/src/../a.txt"}`, true},
		{"Read", `{"file_path":"@DIR@/../outside/x"}`, false},
		{"Read", `{"file_path":"@DIR@/away/x"}`, false},
		{"Read", `{"file_path":"@DIR@/far"}`, false},
		{"Read", `{"file_path":"@DIR@/loop"}`, false},
		{"Read", `{"file_path":"@DIR@/up/a.txt"}`, false},
		{"Read", `{"file_path":"@DIR@/away/../a.txt"}`, false},
		{"Read", `{"file_path":"@DIR@-other/a.txt"}`, false},
		{"Read", `{"file_path":"~/a.txt"}`, false},
		{"Read", `{"file_path":"/etc/hostname"}`, false},
		{"Read", `{"file_path":"/proc/self/cwd/a.txt"}`, false},
		{"Read", `{"file_path":"/proc/self/environ"}`, false},
		{"Read", `{"file_path":"/proc/1/mem"}`, false},
		{"Read", `{"file_path":"/dev/tcp/127.0.0.1/1"}`, false},
		{"Read", `{"file_path":"@DIR@/.env"}`, false},
		{"Read", `{"file_path":"@DIR@/.ENV"}`, false},
		{"Read", `{"file_path":"@DIR@/.env.example"}`, true},
		{"Read", `{"file_path":"@DIR@/harmless.txt"}`, false},
		{"Read", `{"file_path":"@DIR@/key/config"}`, false},
		{"Read", `{"file_path":""}`, false},
		{"Read", `{}`, false},
		{"Read", `{"file_path":" /etc/hostname"}`, false},
		{"Read", `{"file_path":"\u00a0a.txt"}`, false},
		{"Read", `{"file_path":"\ufeff/etc/hostname"}`, false},
		{"Read", `{"file_path":"a.txt\n"}`, false},
		{"Read", `{"file_path":"\u212aube"}`, false},
		{"Read", `{"file_path":"e\u0301.txt"}`, false},
		{"Read", `{"file_path":"caf\u00e9/\u65e5\u672c.txt"}`, true},
		{"Grep", `{"pattern":"x","path":" /etc"}`, false},
		{"Glob", `{"pattern":" /etc/*"}`, false},
		{"Read", `{"File_Path":"a.txt"}`, false},
		{"Read", `{"file_path":"a.txt","File_Path":"/etc/passwd"}`, false},
		{"Read", `{"file_path":"a.txt","file_path":"/etc/passwd"}`, false},
		{"Read", `{"file_path":"a.txt","as":"root"}`, false},
		{"Read", `{"file_path":"a.txt\u0000"}`, false},
		{"Read", `{"file_path":"a\udc00"}`, false},
		{"Read", `{"file_path":7}`, false},
		{"Grep", `{"pattern":"x"}`, true},
		{"Grep", `{"pattern":"x","path":"src","-n":true,"glob":"*.go"}`, true},
		{"Grep", `{"pattern":"x","path":"/etc"}`, false},
		{"Grep", `{"pattern":"x","path":".env"}`, false},
		{"Grep", `{"pattern":"x","--pre":"sh"}`, false},
		{"Glob", `{"pattern":"**/*.go"}`, true},
		{"Glob", `{"pattern":"../*"}`, false},
		{"Glob", `{"pattern":"/etc/*"}`, false},
		{"Glob", `{"pattern":"{src,/etc}/*"}`, false},
		{"Glob", `{"pattern":"~/*"}`, false},
		{"LS", `{"path":"@DIR@"}`, true},
		{"LS", `{"path":"@DIR@/away"}`, false},
		{"NotebookRead", `{"notebook_path":"x.ipynb"}`, true},
	} {
		v := c.with(tc.tool, tc.input)
		if v.Free() != tc.free {
			t.Errorf("%s %s passes: %v (%s, %s)", tc.tool, tc.input, v.Free(), v.Effect, v.Reason)
		}
	}
	c.Roots = []string{filepath.Join(filepath.Dir(c.Dir), "outside")}
	if v := c.with("Read", `{"file_path":"@DIR@/away/x"}`); !v.Free() {
		t.Errorf("a further root is outside: %s", v.Reason)
	}
}

func TestFilesThatAreWritten(t *testing.T) {
	c := house(t)
	outside := filepath.Join(filepath.Dir(c.Dir), "outside")
	for _, tc := range []struct {
		tool, input string
		guarded     bool
		path        string
	}{
		{"Write", `{"file_path":"src/new.go","content":"x"}`, false, c.Dir + "/src/new.go"},
		{"Edit", `{"file_path":"@DIR@/self/a.txt","old_string":"a","new_string":"b"}`, false, c.Dir + "/a.txt"},
		{"MultiEdit", `{"file_path":"a.txt","edits":[]}`, false, c.Dir + "/a.txt"},
		{"NotebookEdit", `{"notebook_path":"a.ipynb","new_source":""}`, false, c.Dir + "/a.ipynb"},
		{"Write", `{"file_path":"away/x","content":""}`, true, outside + "/x"},
		{"Write", `{"file_path":"far","content":""}`, true, outside + "/deeper/new"},
		{"Write", `{"file_path":"../outside/x","content":""}`, true, outside + "/x"},
		{"Write", `{"file_path":"~/x","content":""}`, true, c.Home + "/x"},
		{"Write", `{"file_path":".git/hooks/pre-commit","content":""}`, true, c.Dir + "/.git/hooks/pre-commit"},
		{"Write", `{"file_path":".GIT/config","content":""}`, true, c.Dir + "/.GIT/config"},
		{"Write", `{"file_path":".claude/settings.json","content":""}`, true, c.Dir + "/.claude/settings.json"},
		{"Write", `{"file_path":".mcp.json","content":""}`, true, c.Dir + "/.mcp.json"},
		{"Write", `{"file_path":".env","content":""}`, true, c.Dir + "/.env"},
		{"Write", `{"file_path":" a.txt","content":""}`, true, c.Dir + "/ a.txt"},
	} {
		v := c.with(tc.tool, tc.input)
		if v.Effect != Write || v.Guarded != tc.guarded || len(v.Paths) == 0 || v.Paths[0] != tc.path {
			t.Errorf("%s %s: %+v", tc.tool, tc.input, v)
		}
		if !strings.Contains(v.Reason, "writes") {
			t.Errorf("%s %s: the reason is %q", tc.tool, tc.input, v.Reason)
		}
	}
	for _, input := range []string{
		`{"content":"x"}`, `{"file_path":""}`, `{"file_path":"a","file_path":"b"}`, `{"FILE_PATH":"a","content":""}`, `{"file_path":"a","notebook_path":"b"}`,
		`{"file_path":"a\u0000b"}`, `{"file_path":"\ud83d"}`, `{"file_path":["a"]}`, `[]`, ``, `{"file_path":"a","chmod":"777"}`, "{\"file_path\":\"\xc3\"}",
	} {
		if v := c.with("Write", input); v.Effect != External {
			t.Errorf("Write %s is %s, so that a grant for edits may cover it", input, v.Effect)
		}
	}
}

func TestSecretsByName(t *testing.T) {
	for _, name := range []string{
		"/h/.ssh/config", "/h/.aws/credentials", "/h/.kube/config", "/h/.docker/config.json", "/h/.netrc", "/h/.npmrc", "/h/.pypirc", "/w/server.pem", "/w/id_rsa", "/w/id_ed25519",
		"/w/.env", "/w/.env.local", "/w/prod.env", "/h/.config/gcloud/x.json", "/h/.bash_history", "/h/.git-credentials", "/w/credentials.json", "/w/service-account.json", "/w/terraform.tfstate",
		"/h/.mozilla/firefox/x/logins.json", "/h/.config/google-chrome/Default/Cookies", "/etc/shadow", "/w/api.token", "/w/my-secrets.yaml", "/h/.gnupg/x", "/w/x.kdbx", "/h/.PGPASS",
	} {
		if !secret(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{
		"/w/main.go", "/w/secret.go", "/w/password_reset.py", "/w/.env.example", "/w/id_rsa.pub", "/w/tokens.go", "/w/README.md", "/w/environment.go", "/w/key.ts", "/w/package.json",
	} {
		if secret(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}
