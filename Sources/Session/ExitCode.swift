/// The numbers `coffre` ends with. They are part of the interface: never changed, never used twice.
package enum ExitCode: Int32, CaseIterable, Sendable {
  case success = 0
  case usage = 2
  case wrongPassword = 3
  case damagedConfiguration = 4
  case damagedStore = 5
  case noSuchVault = 6
  case missingConfiguration = 7
  case notEmpty = 8
  case badMountPoint = 9
  case nested = 10
  case inUse = 11
  case mountFailed = 12
  case older = 13
  case noSpace = 14
  case unsupported = 15
  case badPasswordInput = 16
  case systemError = 17
  case notMounted = 18
  case busy = 19
  case damagedJournal = 20
  case damageFound = 21
  case damageRepaired = 22
  case notChecked = 23
  case noSuchPath = 24
  case held = 25
  case exists = 26
  case incomplete = 27

  /// One line for `coffre help exit-codes` and the manual page.
  package var meaning: String {
    switch self {
    case .success: "it was done"
    case .usage: "the command line was not understood"
    case .wrongPassword: "the password does not open the vault"
    case .damagedConfiguration: "both copies of the vault's configuration are damaged"
    case .damagedStore: "a stored piece of the vault is damaged or missing"
    case .noSuchVault: "there is no vault at that path"
    case .missingConfiguration: "the vault's data is there, its configuration is not"
    case .notEmpty: "the folder for a new vault has something in it"
    case .badMountPoint: "the mount point is missing, no folder, or not empty"
    case .nested: "the mount point is inside the vault, or the vault inside the mount point"
    case .inUse: "the vault is in use, or something is mounted at the mount point"
    case .mountFailed: "the kernel or fusermount3 refused, or the mount's process ended early"
    case .older: "the vault is older than, or a fork of, what this machine has seen"
    case .noSpace: "there is no space left where the vault is"
    case .unsupported: "the vault was made by a newer coffre"
    case .badPasswordInput: "the password could not be read, or is empty, too long or has a NUL"
    case .systemError: "a system call failed"
    case .notMounted: "the vault is not mounted"
    case .busy: "the vault could not be unmounted"
    case .damagedJournal: "the vault's journal is damaged, or the disk fails to read it"
    case .damageFound: "the check found damage, and some of it is left"
    case .damageRepaired: "the check found damage, and all of it is repaired"
    case .notChecked: "the check could not be finished"
    case .noSuchPath: "there is nothing at that path in the vault"
    case .held: "programs use the vault, so it was not locked"
    case .exists: "there is something at that path already, and it was left as it is"
    case .incomplete: "some of a tree was not copied; the rest was"
    }
  }
}
