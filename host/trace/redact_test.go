package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
)

const pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----"

// assembled at run time: a scanner for secrets must not stumble over this file.
func tokens() map[string]string {
	return map[string]string{
		"sk-ant":       "sk-ant-" + "api03-abcdefgh_1234-XYZ",
		"github-token": "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
		"slack-token":  "xoxb-" + "123456789012-abcdefghijkl",
		"aws-key":      "AKIA" + "ABCDEFGHIJKLMNOP",
		"jwt":          "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
		"private-key":  pem,
	}
}

func TestTokensAreKnownBySight(t *testing.T) {
	r := NewRedactor(nil)
	for name, token := range tokens() {
		for _, text := range []string{token, "a " + token + " z", `"` + token + `"`, "x=" + token + "\n"} {
			got := r.Text(text)
			if strings.Contains(got, token) || !strings.Contains(got, "‹redacted "+name+"›") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
	for _, text := range []string{"sk-ant-…", "the ghp_ prefix", "xox", "AKIA", "eyJ.eyJ", "-----BEGIN CERTIFICATE-----\nabc", "Postgres or SQLite?"} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestWhichVariablesAreSecret(t *testing.T) {
	r := NewRedactor([]string{
		"API_KEY=keykeykey1", "my_token=toktoktok2", "DB_PASSWORD=p\"a\\s/s<3é\tü", "BASIC_AUTH=joe:joejoe", "SHORT_KEY=abc",
		"GIT_AUTHOR_NAME=Authorname", "PATH=/usr/local/bin", "PIN_SECRET=1234567890", "EMPTY_TOKEN=", "broken",
	})
	for text, want := range map[string]string{
		"a keykeykey1":           "a ‹redacted API_KEY›",
		"toktoktok2toktoktok2":   "‹redacted my_token›‹redacted my_token›",
		"p\"a\\s/s<3é\tü!":       "‹redacted DB_PASSWORD›!",
		"joe:joejoe@localhost":   "‹redacted BASIC_AUTH›@localhost",
		"abc Authorname":         "abc Authorname",
		"/usr/local/bin/kitsoki": "/usr/local/bin/kitsoki",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := string(r.JSON([]byte(`{"n":1234567890,"m":[12,1234567890]}`))); got != `{"n":"‹redacted PIN_SECRET›","m":[12,"‹redacted PIN_SECRET›"]}` {
		t.Errorf("as a number: %s", got)
	}
}

func TestOfTwoSecretsThatBeginAlikeNothingStays(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=abcdefgh", "B_KEY=abcdefghijklmnop"})
	if got := r.Text("abcdefghijklmnop"); got != "‹redacted B_KEY›" {
		t.Errorf("got %q", got)
	}
}

// Any secret at any hostile place of a line, in any spelling JSON has for it, is gone, and JSON stays JSON.
func TestNoSpellingHidesASecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~äß]{8,24}`).Draw(t, "secret")
		r := NewRedactor([]string{"A_SECRET=" + secret})
		text := rapid.String().Draw(t, "before") + secret + rapid.StringMatching(`[ -~\n]{0,8}`).Draw(t, "after")
		spelt := rapid.SampledFrom([]func(string) string{
			func(s string) string { return string(encodeString(s, false)) },
			func(s string) string { return string(encodeString(s, true)) },
			func(s string) string { return strings.ReplaceAll(string(encodeString(s, false)), "/", `\/`) },
			allEscaped,
			func(s string) string { return string(encodeString(string(encodeString(s, true)), false)) }, // JSON in JSON
			func(s string) string { return string(encodeString(askbridge.Safe(s), false)) },
		}).Draw(t, "spelling")
		line := `{"type":"user","` + "k" + `":[1,{"x":` + spelt(text) + `},-2.5e3,null],"z":{` + spelt(secret) + `:true}}`
		if !json.Valid([]byte(line)) {
			t.Fatalf("the test makes no JSON: %s", line)
		}
		got := r.JSON([]byte(line))
		if !json.Valid(got) {
			t.Fatalf("no JSON any more: %s", got)
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		flat := fmt.Sprint(v)
		for _, where := range []string{flat, string(got)} {
			for _, form := range forms(secret) {
				// A form that is part of the mark itself says nothing.
				if mark := "‹redacted A_SECRET›"; strings.Contains(where, form) && !strings.Contains(mark, form) {
					t.Fatalf("%q is still in %s", form, where)
				}
			}
		}
	})
}

func allEscaped(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r > 0xFFFF {
			b.Write(encodeString(string(r), false)[1 : len(encodeString(string(r), false))-1])
			continue
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	b.WriteByte('"')
	return b.String()
}

func TestLineWithoutSecretStaysByteForByte(t *testing.T) {
	r := NewRedactor([]string{"A_KEY=abcdefgh"})
	for _, line := range []string{
		`{"a":"\u0041\/\ud83d\ude00 \ud800","b":1.0e5}`, `garbage "unfinished \`, "", `{"a":`, "\xff\xfe\"", `[]`,
	} {
		if got := string(r.JSON([]byte(line))); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
	for _, line := range []string{`abcdefgh`, `{"a":"abcdefgh`, `"abcdefgh \`, "x \"y\" abcdefgh\xff"} {
		if got := string(r.JSON([]byte(line))); strings.Contains(got, "abcdefgh") {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestArgvTellsHowAndNotWhat(t *testing.T) {
	got := Argv("/bin/claude", []string{
		"-p", "delete everything", "--output-format", "stream-json", "--mcp-config", "/run/x/mcp.json", "--append-system-prompt", "be kind",
		"--model=opus", "--json-schema={}", "--verbose", "--resume", "c1", "stray", "-a prompt with a dash",
	})
	want := []string{
		"/bin/claude", "-p", "(17 bytes)", "--output-format", "stream-json", "--mcp-config", "/run/x/mcp.json", "--append-system-prompt", "(7 bytes)",
		"--model=opus", "--json-schema=(2 bytes)", "--verbose", "--resume", "c1", "(5 bytes)", "(21 bytes)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
