package classify

import (
	"slices"
	"strings"
)

// networkPrograms reports whether a program is there to talk to other machines, to a service that does, or to another
// agent. Those that do so in some of their commands only are in networkAt.
func networkPrograms(name string) bool {
	return slices.Contains(strings.Fields(`
		curl wget wget2 http https xh aria2c axel lynx w3m links elinks
		ssh scp sftp slogin autossh mosh ssh-copy-id ssh-keyscan sshpass rsh rlogin rcp
		nc ncat netcat nc.openbsd nc.traditional socat telnet ftp lftp tftp ncftp websocat grpcurl
		gh hub glab tea bb jira linear
		docker docker-compose podman nerdctl buildah skopeo crane buildctl
		kubectl k9s helm oc kustomize argocd flux istioctl eksctl minikube kind terraform tofu terragrunt pulumi packer vagrant nomad consul vault
		ansible ansible-playbook ansible-galaxy salt chef knife puppet fab
		aws gcloud gsutil bq az doctl flyctl fly heroku vercel netlify wrangler firebase supabase railway render cf ibmcloud oci linode-cli hcloud s3cmd s5cmd mc rclone restic borg duplicity
		mail mailx sendmail mutt neomutt swaks msmtp ssmtp exim postfix telegram-send slack
		ping ping6 traceroute tracepath mtr dig nslookup host whois drill nmap masscan arping hping3 iperf iperf3
		apt apt-get aptitude dnf yum zypper pacman apk brew port snap flatpak nix nix-env nix-shell guix dpkg-reconfigure add-apt-repository
		npx pnpx bunx yarnpkg corepack deno nvm fnm volta asdf mise rustup pipx conda mamba micromamba pyenv rbenv gem bundle bundler composer pecl nuget dotnet mvn mvnw gradle gradlew sbt lein mix rebar3 hex cabal stack opam cpan cpanm luarocks
		svn hg bzr cvs p4 fossil git-lfs git-remote-http git-remote-https git-upload-pack git-receive-pack
		psql mysql mariadb mongosh mongo redis-cli sqlcmd clickhouse-client cqlsh influx
		tailscale cloudflared ngrok wg wg-quick openvpn zerotier-cli bore frpc localtunnel lt
		xdg-open open sensible-browser x-www-browser firefox chromium google-chrome
		claude codex opencode gemini aider goose cursor-agent copilot kitsoki llm ollama
		yt-dlp youtube-dl ffplay wall write notify-send osascript twine vsce ovsx`), name)
}

// textOnly lists programs whose arguments are texts and names of files, so that a word that is also the name of a
// program that leaves the machine means nothing.
func textOnly(name string) bool {
	return slices.Contains(strings.Fields(`
		echo printf cat head tail wc ls cp mv rm mkdir rmdir touch ln chmod chown grep egrep fgrep rg stat file diff cmp comm cut tr uniq sort tee
		test [ cd pwd true false type which whereis basename dirname realpath readlink du df tree jq yq nl tac rev fold paste truncate install sha256sum md5sum less more`), name)
}

// isShell lists shells; without a file or a text they run what they are given by a pipe.
func isShell(name string) bool {
	return slices.Contains(strings.Fields("sh bash dash zsh ksh mksh ash fish csh tcsh rbash su"), name)
}

// interprets lists what runs code that it is given as text.
func interprets(name string) bool {
	return isShell(name) || slices.Contains(strings.Fields(`
		python python2 python3 perl ruby node nodejs php lua luajit tclsh expect awk gawk mawk nawk osascript Rscript julia ghci elixir erl groovy jshell scala guile racket sbcl emacs vim vi ex ed nvim sqlite3 gdb lldb bc`), name)
}

// wraps lists programs that start the one that they are given.
func wraps(name string, words []string) bool {
	if name == "find" {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") })
	}
	return slices.Contains(strings.Fields(`
		env nice nohup timeout setsid stdbuf ionice flock chrt taskset xargs fd fdfind exec command builtin sudo doas watch parallel strace ltrace script
		busybox toybox chroot unshare nsenter setpriv runuser systemd-run at batch entr`), name)
}
