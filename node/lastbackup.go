package node

import (
	"context"
	"strconv"

	"lockstep/cluster/meta"
)

// lastBackupSetting is a name among the meta group's settings that is no directive:
// when the newest backup began that was read back, in Unix milliseconds.
const lastBackupSetting = "last-backup-ms"

// BackupDone implements client.Backups.
func (n *Node) BackupDone(ctx context.Context, beganMs int64) error {
	if beganMs <= lastBackupMs(n.Machine.View()) {
		return nil
	}
	_, err := n.Meta.Do(ctx, &meta.SetSettings{Set: map[string]string{lastBackupSetting: strconv.FormatInt(beganMs, 10)}})
	return err
}

// lastBackupMs is 0 where no backup has been made.
func lastBackupMs(v *meta.View) int64 {
	ms, _ := strconv.ParseInt(v.Settings[lastBackupSetting], 10, 64)
	return ms
}
