package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/process"
)

// options are the flags that every verb has.
type options struct {
	addrs    []string
	user     string
	password string
	timeout  time.Duration
	output   string
	secure   secureFlags
}

// passwordVariables give the password if no flag does. A node's container has the second one, so
// that clusterctl works there without further flags.
var passwordVariables = []string{"LOCKSTEP_PASSWORD", "LOCKSTEP_REQUIREPASS"}

// noArgs refuses arguments of a verb that has flags only.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes only flags, not %q: see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

func newRoot() *cobra.Command {
	opt := &options{}
	root := &cobra.Command{
		Use:           "clusterctl",
		Short:         "Show and change a Lockstep cluster",
		Long:          "Show and change a Lockstep cluster.\n\n" + exitHelp,
		Version:       process.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if opt.output != outputTable && opt.output != outputJSON {
				return fmt.Errorf("--output is %s or %s, not %q", outputTable, outputJSON, opt.output)
			}
			for _, name := range passwordVariables {
				if opt.password == "" {
					opt.password = os.Getenv(name)
				}
			}
			return opt.secure.open(cmd)
		},
	}
	f := root.PersistentFlags()
	f.StringSliceVarP(&opt.addrs, "addr", "a", []string{"127.0.0.1:6379"}, "client address of a node; of several, the first that answers is asked")
	f.StringVar(&opt.user, "user", "", "user to log in as, with --password (default: the default user)")
	f.StringVar(&opt.password, "password", "", "password of the nodes (or from "+strings.Join(passwordVariables, " or ")+")")
	f.DurationVar(&opt.timeout, "timeout", 5*time.Second, "how long a node may take to answer")
	f.StringVarP(&opt.output, "output", "o", outputTable, "form of the output: table or json")
	opt.secure.flags(f)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputTable, outputJSON}, cobra.ShellCompDirectiveNoFileComp))
	root.AddGroup(
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupChange, Title: "Change:"},
		&cobra.Group{ID: groupRepair, Title: "Repair and try:"},
	)
	add := func(group string, verbs ...*cobra.Command) {
		for _, v := range verbs {
			v.GroupID = group
			root.AddCommand(v)
		}
	}
	add(groupLook, newStatus(opt), newNodes(opt), newShards(opt), newSlots(opt), newTop(opt), newDoctor(opt), newClock(opt), newProbe(opt), newSupportBundle(opt))
	add(groupChange, newJoin(opt), newLeave(opt), newRemove(opt), newScale(opt), newPromote(opt), newTransfer(opt), newDrain(opt), newRebalance(opt), newUpgrade(opt), newSecret(opt), newSnapshot(opt))
	add(groupRepair, newBackup(opt), newRestore(opt), newImport(opt), newReplace(opt), newRecover(opt), newBench(opt), newDemo())
	return root
}

// The groups of verbs in the help.
const (
	groupLook   = "look"
	groupChange = "change"
	groupRepair = "repair"
)

// stderr is where questions and progress go.
func stderr(cmd *cobra.Command) io.Writer { return cmd.ErrOrStderr() }
