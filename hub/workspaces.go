package hub

import (
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// A workspace is a name that conversations carry from their creation on. A token that grants it lets its holder read them all, and its runner's agents watch
// them: it lets nobody write.

// WithWorkspaces gives p, a local principal, as one whose token grants these workspaces.
func (p *Principal) WithWorkspaces(workspaces ...string) *Principal {
	more := *p
	more.workspaces = slices.Clone(workspaces)
	return &more
}

// reads reports whether a conversation exists for the principal: one that it has a part in, or one of a workspace that its token grants, which it may read and no more.
func (p *Principal) Reads(s *fold.State) bool {
	return p.sees(s) || s.Exists() && p.reaches(s.ID) && p.grants(s.Workspace)
}

// anyWorkspace stands in workspaceList for every workspace there is. None may be named so.
const anyWorkspace = "*"

// grants reports whether its token grants a workspace. An admin's grants any; what has no workspace, nobody's.
func (p *Principal) grants(workspace string) bool {
	return grantedBy(p.workspaceList(), workspace)
}

// workspaceList is what its token grants: names, or anyWorkspace alone for an admin; nil where there are none. It is not to be changed.
func (p *Principal) workspaceList() []string {
	if p.Admin() {
		return everyWorkspace
	}
	return p.workspaces
}

var everyWorkspace = []string{anyWorkspace}

// grantedBy reports whether a list such as workspaceList gives, or a RunnerRecord keeps, has a workspace.
func grantedBy(list []string, workspace string) bool {
	return workspace != "" && (slices.Contains(list, workspace) || slices.Contains(list, anyWorkspace))
}

// grantedOf gives those of some workspaces that p's token grants too. A token for one turn keeps them: it reaches no other conversation.
func (p *Principal) grantedOf(workspaces []string) []string {
	switch {
	case p.Admin(), p.claim != nil:
		return workspaces
	case slices.Contains(workspaces, anyWorkspace):
		return p.workspaces
	}
	return slices.DeleteFunc(slices.Clone(workspaces), func(w string) bool { return !p.grants(w) })
}

// errReadsOnly: that the conversation exists is no secret from who may read it.
var errReadsOnly = parley.Refuse(parley.ErrForbidden, "a workspace lets read, and the caller has no part in the conversation", "a participant of the conversation")

// hidden refuses a write in a conversation that p does not see.
func (p *Principal) hidden(s *fold.State) error {
	if p.Reads(s) {
		return errReadsOnly
	}
	return errNotFound
}

// checkWorkspace refuses what is no name of a workspace; where says what has it.
func checkWorkspace(where, name string) error {
	if !parley.ValidWorkspace(name) {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("%s: %.80q is not acceptable", where, name), "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")
	}
	return nil
}

// checkGrants refuses a workspace that p's token does not grant. Whether there is such a workspace is not told: it is a name and no more.
func (p *Principal) checkGrants(workspace string) error {
	if err := checkWorkspace("workspace", workspace); err != nil {
		return err
	}
	if !p.grants(workspace) {
		return parley.Refuse(parley.ErrForbidden, fmt.Sprintf("the token does not grant the workspace %s", workspace), "a workspace of the token")
	}
	return nil
}
