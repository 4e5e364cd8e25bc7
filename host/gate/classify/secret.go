package classify

import (
	"path"
	"slices"
	"strings"
)

// secretDirs hold keys, sessions or passwords: everything below them is a secret. Lower case, as all names here.
func secretDirs() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".config/gcloud", ".config/gh", ".config/hub",
		".config/op", ".config/sops", ".config/rclone", ".config/doctl", ".config/containers", ".config/google-chrome",
		".config/chromium", ".config/bravesoftware", ".config/microsoft-edge", ".config/vivaldi", ".mozilla", ".thunderbird",
		"application support/google", "application support/firefox", "application support/bravesoftware", "keychains",
		"keyrings", ".password-store", ".terraform.d", ".fly", ".gem", ".m2", ".cargo/credentials", ".claude/.credentials.json",
		".codex", ".gemini", ".electrum", ".bitcoin", ".ethereum", ".secrets", "secrets", "run/secrets",
	}
}

// secretFiles are patterns of names, as path.Match takes them.
func secretFiles() []string {
	return []string{
		".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc*", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf",
		".git-credentials", ".htpasswd", ".dockercfg", ".boto", ".s3cfg", ".vault-token", ".terraformrc", ".authinfo*", ".msmtprc",
		".fetchmailrc", ".ldaprc", ".rhosts", ".shosts", "shadow", "gshadow", "shadow-", "gshadow-", "sudoers", "opasswd",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.kdb", "*.ovpn", "*.asc", "*.gpg", "*.age",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*_rsa", "*_dsa", "*_ecdsa", "*_ed25519", "ssh_host_*", "identity",
		"*credential*", "*secret*", "*password*", "*passwd*", "token", "tokens", "*.token", "*.tokens", "*_token", "*-token", "token.json", "tokens.json",
		"auth.json", "auth.toml", "hosts.yml", "service-account*", "service_account*", "kubeconfig*", "*.kubeconfig", "adc.json", "*.tfstate", "*.tfstate.*", "*.tfvars",
		"*_history", ".*_history", ".lesshst", ".viminfo", ".wget-hsts", "login data*", "logins.json", "key3.db", "key4.db", "cookies", "cookies.*", "*.keychain*",
		"environ", "wallet.dat",
	}
}

// exampleEnds mark a file that shows what a secret looks like, or is its public half.
func exampleEnds() []string {
	return []string{".example", ".sample", ".template", ".dist", ".pub"}
}

// sourceEnds mark code and pages, which are named after secrets more often than they hold some.
func sourceEnds() []string {
	return []string{
		".go", ".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".rs", ".rb", ".java", ".kt", ".swift", ".c", ".h", ".cc", ".cpp", ".hpp",
		".cs", ".php", ".scala", ".ex", ".exs", ".erl", ".hs", ".ml", ".lua", ".md", ".rst", ".html", ".css", ".scss", ".vue", ".svelte", ".proto", ".sql",
	}
}

// secret reports whether a path is by its name where keys, tokens or passwords are kept. Case does not count, as it
// does not on some disks.
func secret(file string) bool {
	file = strings.ToLower(file)
	base := path.Base(file)
	for _, dir := range secretDirs() {
		if strings.Contains(file+"/", "/"+dir+"/") {
			return true
		}
	}
	ends := func(list []string) bool {
		return slices.ContainsFunc(list, func(end string) bool { return strings.HasSuffix(base, end) })
	}
	if ends(exampleEnds()) {
		return false
	}
	return slices.ContainsFunc(secretFiles(), func(pattern string) bool {
		if strings.HasPrefix(pattern, "*") && strings.Count(pattern, "*") == 2 && ends(sourceEnds()) {
			return false
		}
		ok, err := path.Match(pattern, base)
		return ok || err != nil
	})
}

// secret reports whether one of the names of a spot is one.
func (s spot) secret() bool { return secret(s.named) || slices.ContainsFunc(s.real, secret) }

// startsPrograms reports whether a file says what runs later: hooks, settings of agents, editors, shells and tools.
func startsPrograms(file string) bool {
	file = strings.ToLower(file)
	for _, dir := range []string{
		".git", ".claude", ".codex", ".gemini", ".opencode", ".vscode", ".idea", ".husky", ".githooks", ".github/workflows", ".devcontainer",
		".cursor", ".config", ".local/bin", "bin", ".direnv", ".pre-commit", ".hg", ".jj",
	} {
		if strings.Contains(file+"/", "/"+dir+"/") {
			return true
		}
	}
	return slices.Contains([]string{
		".mcp.json", ".claude.json", ".envrc", ".gitconfig", ".gitmodules", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
		".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".inputrc", ".tmux.conf", ".vimrc", ".exrc", ".nvimrc", ".ideavimrc",
		".npmrc", ".yarnrc", ".yarnrc.yml", ".tool-versions", ".mise.toml", "mise.toml", ".python-version", ".pre-commit-config.yaml", "rust-toolchain",
		"rust-toolchain.toml", ".lesskey", ".wgetrc", ".curlrc", ".pythonrc", ".ripgreprc", "lefthook.yml", "opencode.json", "codex.toml", "crontab", "agents.md", "claude.md",
	}, path.Base(file))
}
