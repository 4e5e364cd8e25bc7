package wall_test

import (
	"testing"

	"example.com/kitsoki/host/gate/wall"
)

func attack(string) error { return nil }

func TestSmoke(t *testing.T) {
	need(t, wall.Kernel)
	g := newGround(t)
	o := g.behind(t, wall.Kernel, g.spec(), self(t), "agent", "sh", "-c", `echo x > file; echo y > $TMPDIR/y; cat $TMPDIR/y; chmod 644 file; chmod 755 $TMPDIR/y; ls -l $TMPDIR file; curl -sS http://127.0.0.1:1; python3 -c 'print(1)'; echo >/dev/null; cat /proc/self/status | grep -E "Cap|Secc|NoNew"; touch -d 2020-01-01 $TMPDIR/y; touch -d 2020-01-01 file; ls -l $TMPDIR; cp -p file $TMPDIR/copy; ls -la $TMPDIR`)
	t.Logf("%+v", o)
}
