package wall

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The fallback for kernels without Landlock: namespaces of users and mounts, in which everything is mounted
// read-only and without devices, and what may be written is bound over itself and is not. A namespace of users is
// made for a process with one thread alone, so that the launcher starts in it.

// Attr asks for what a command of [Wall.Wrap] has to be started in. It does nothing for levels without namespaces.
func (w *Wall) Attr(attr *syscall.SysProcAttr) {
	if w.level == Namespace {
		apart(attr)
	}
}

func apart(attr *syscall.SysProcAttr) {
	uid, gid := os.Getuid(), os.Getgid()
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	// An ordinary user's capabilities in the namespace end at exec otherwise; the launcher drops them.
	attr.AmbientCaps = append(attr.AmbientCaps, unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP)
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
}

// namespacesWork tries.
func namespacesWork() bool {
	// Where AppArmor restricts them they can be made, and nothing can be mounted in them.
	raw, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	if err == nil && strings.TrimSpace(string(raw)) == "1" && os.Getuid() != 0 {
		return false
	}
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	apart(cmd.SysProcAttr)
	return cmd.Run() == nil
}

// useful devices are read, or swallow what is written.
func useful() []string { return append(harmless(), "/dev/random", "/dev/urandom") }

// readOnly mounts everything so that it cannot be changed, but for what the spec names. It needs a namespace of its
// own, and would change the machine's mounts without: it looks first.
func readOnly(spec Spec) error {
	if err := inNamespace(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part with the machine's mounts: %w", err)
	}
	bound := append(append([]string{}, spec.Writable...), spec.Files...)
	for _, path := range bound {
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", path, err)
		}
	}
	var devices []string
	for _, path := range useful() {
		switch err := unix.Mount(path, path, "", unix.MS_BIND, ""); {
		case err == nil:
			devices = append(devices, path)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("bind %s: %w", path, err)
		}
	}
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &all); err != nil {
		return fmt.Errorf("mount everything read-only: %w", err)
	}
	for _, path := range bound {
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("mount %s writable: %w", path, err)
		}
	}
	for _, path := range devices {
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NODEV}); err != nil {
			return fmt.Errorf("mount %s as a device: %w", path, err)
		}
	}
	return enterAgain()
}

// enterAgain goes to the working directory by its name: where we are is otherwise still below the mount that was
// there before.
func enterAgain() error {
	dir, err := unix.Getwd()
	if err == nil {
		err = unix.Chdir(dir)
	}
	if err != nil {
		return fmt.Errorf("enter the working directory again: %w", err)
	}
	return nil
}

// inNamespace fails when the process shares its mounts with the one that started it.
func inNamespace() error {
	for _, kind := range []string{"user", "mnt"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return err
		}
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", os.Getppid(), kind))
		// Whoever is outside may not even be looked at, which is as good an answer.
		if err == nil && ours == theirs {
			return fmt.Errorf("the launcher was not started in a namespace of its own (%s)", kind)
		}
	}
	return nil
}
