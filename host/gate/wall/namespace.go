package wall

import "errors"

func namespacesWork() bool { return false }

func readOnly(Spec) error { return errors.New("user namespaces are not used yet") }
