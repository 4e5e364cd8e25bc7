package classify

// readers is the list of programs that pass unasked, with exactly these flags; docs/write-gate.md shows it. A flag
// belongs here only if no value of it writes, runs a program or opens a connection, on GNU systems, macOS and busybox
// alike. Not here, though they mostly read: awk, xargs, tar, env, less and man, which all run other programs; tee, dd
// and truncate; make -n, which runs what is in the makefile; cargo and rustc, which take their toolchain from the
// working tree; npm, pip and yarn, which write logs or fetch themselves.
func readers() []program {
	return []program{
		{"arch", "", ""},
		{"basename", "-a -z -s=text", "text..."},
		{"cat", "-A -E -T -b -e -n -s -t -u -v --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank", "path..."},
		{"cksum", "", "path..."},
		{"cmp", "-b -l -s -n=number --silent --quiet --verbose --print-bytes", "path path number number"},
		{"column", "-t -s=text -c=number", "path..."},
		{"comm", "-1 -2 -3 --nocheck-order", "path path"},
		{"cut", "-b=word -c=word -d=text -f=word -n -s -z --bytes=word --characters=word --complement --delimiter=text --fields=word --only-delimited --output-delimiter=text", "path..."},
		{"date", "-I -R -u --rfc-3339=word --iso-8601[=word] --utc", "+text"},
		{"df", "-P -T -a -h -i -k -l -m --human-readable --total", "path..."},
		{"diff", "-B -E -N -U=number -C=number -Z -a -b -i -q -r -s -t -u -w -y --brief --color[=word] --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-change --new-file --recursive --report-identical-files --side-by-side --strip-trailing-cr --suppress-common-lines --text --unified[=number] --width=number", "path path"},
		{"dirname", "-z", "text..."},
		{"du", "-S -a -b -c -d=number -h -k -l -m -s -x --all --apparent-size --bytes --exclude=text --human-readable --max-depth=number --summarize --total", "path..."},
		{"echo", "-E -e -n", "text..."},
		{"egrep", grepFlags, "text path..."},
		{"expand", "-i -t=word", "path..."},
		{"false", "", ""},
		{"fgrep", grepFlags, "text path..."},
		{"file", "-L -b -h -i --brief --dereference --mime --mime-encoding --mime-type", "path..."},
		{"find", "words -H -P -a -and -daystart -depth -empty -executable -false -iname=text -inum=number -ipath=text -iregex=text -links=number -ls -maxdepth=number -mindepth=number -mmin=number -mount -mtime=number -name=text -newer=path -not -o -or -path=text -perm=text -print -print0 -printf=text -prune -quit -readable -regex=text -regextype=word -size=number -true -type=word -user=word -wholename=text -writable -xdev", "path..."},
		{"fold", "-b -s -w=number", "path..."},
		{"free", "-b -g -h -k -m -t", ""},
		{"go env", "", "word..."},
		{"go version", "", ""},
		{"gofmt", "words -d -e -l -s", "path..."},
		{"grep", grepFlags, "text path..."},
		{"groups", "", ""},
		{"head", "-NUM -c=number -n=number -q -v -z --bytes=number --lines=number --quiet --verbose", "path..."},
		{"hexdump", "-C -b -c -d -n=number -o -s=number -v -x", "path..."},
		{"hostname", "", ""},
		{"id", "-G -g -n -u", "word"},
		{"jq", "-C -M -S -a -c -e -j -n -r -s --ascii-output --color-output --compact-output --exit-status --indent=number --join-output --monochrome-output --null-input --raw-output --slurp --sort-keys --tab", "text path..."},
		{"ls", "-1 -A -B -C -F -G -H -I=text -L -R -S -U -X -a -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s -t -u -x --all --almost-all --color[=word] --directory --full-time --group-directories-first --hide=text --human-readable --ignore=text --inode --recursive --reverse --size --sort=word --time=word --time-style=text", "path..."},
		{"md5sum", "-b -t", "path..."},
		{"nl", "-b=word -n=word -s=text -v=number -w=number", "path..."},
		{"node", "words --version -v", ""},
		{"nproc", "--all", ""},
		{"od", "-A=word -N=number -a -b -c -d -j=number -o -t=word -v -w=number -x", "path..."},
		{"paste", "-d=text -s -z", "path..."},
		{"printenv", "", "word..."},
		{"printf", "", "text..."},
		{"ps", "-A -a -e -f -l -p=word -o=word -u=word --no-headers --sort=word", "word"},
		{"pwd", "-L -P", ""},
		{"python3", "words --version -V", ""},
		{"readlink", "-e -f -m -n -z --canonicalize", "path..."},
		{"realpath", "-e -m -q -s -z --relative-to=path --relative-base=path", "path..."},
		{"rev", "", "path..."},
		{"rg", rgFlags, "text path..."},
		{"sed", "-E -n -r --quiet --regexp-extended --silent", "text path..."},
		{"seq", "-w -s=text", "number number number"},
		{"sha1sum", "-b -t", "path..."},
		{"sha256sum", "-b -t", "path..."},
		{"sha512sum", "-b -t", "path..."},
		{"sort", "-V -b -c -C -d -f -g -h -i -k=word -m -n -r -s -t=text -u -z --check --dictionary-order --field-separator=text --general-numeric-sort --human-numeric-sort --ignore-case --ignore-leading-blanks --key=word --numeric-sort --reverse --stable --unique --version-sort --zero-terminated", "path..."},
		{"stat", "-L -c=text -f -t --dereference --format=text --printf=text --terse", "path..."},
		{"strings", "-a -n=number -t=word", "path..."},
		{"tac", "-b -r -s=text", "path..."},
		{"tail", "-NUM -c=number -n=number -q -v -z --bytes=number --lines=number --quiet --verbose", "path..."},
		{"test", testFlags, ""},
		{"[", testFlags, "text"},
		{"tr", "-C -c -d -s -t --complement --delete --squeeze-repeats --truncate-set1", "text text"},
		{"tree", "-C -D -F -I=text -L=number -N -P=text -a -d -f -g -h -i -n -p -q -r -s -t -u --dirsfirst --du --filelimit=number --gitignore --noreport --prune --si", "path..."},
		{"true", "", ""},
		{"type", "-a -P -p -t", "word..."},
		{"uname", "-a -m -n -o -p -r -s -v --all", ""},
		{"uniq", "-D -c -d -f=number -i -s=number -u -w=number -z --all-repeated[=word] --check-chars=number --count --ignore-case --repeated --skip-chars=number --skip-fields=number --unique", "path"},
		{"uptime", "-p -s", ""},
		{"wc", "-L -c -l -m -w --bytes --chars --lines --max-line-length --words", "path..."},
		{"which", "-a", "word..."},
		{"whoami", "", ""},
		{"xxd", "words -a -b -c=number -e -g=number -i -l=number -p -ps -s=number -u", "path"},
	}
}

const grepFlags = "-NUM -A=number -B=number -C=number -E -F -G -H -I -L -P -U -Z -a -b -c -e=text -f=path -h -i -l -m=number -n -o -q -r -s -v -w -x -z " +
	"--after-context=number --basic-regexp --before-context=number --byte-offset --color[=word] --context=number --count --exclude=text --exclude-dir=text " +
	"--extended-regexp --files-with-matches --files-without-match --fixed-strings --ignore-case --include=text --invert-match --line-number --line-regexp --max-count=number " +
	"--no-filename --no-messages --null --only-matching --perl-regexp --quiet --recursive --regexp=text --text --with-filename --word-regexp"

const rgFlags = "-. -A=number -B=number -C=number -F -H -I -N -P -S -U -a -c -e=text -g=text -h -i -l -m=number -n -o -q -s -t=word -T=word -u -v -w -x " +
	"--after-context=number --before-context=number --case-sensitive --color=word --column --context=number --count --count-matches --files --files-with-matches --files-without-match " +
	"--fixed-strings --glob=text --heading --hidden --ignore-case --invert-match --json --line-number --max-columns=number --max-count=number --max-depth=number --multiline --no-filename " +
	"--no-heading --no-ignore --no-line-number --only-matching --regexp=text --smart-case --sort=word --stats --trim --type=word --type-list --type-not=word --vimgrep --with-filename --word-regexp"

const testFlags = "words -L=path -d=path -e=path -f=path -h=path -n=text -r=path -s=path -w=path -x=path -z=text"
