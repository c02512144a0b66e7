/// What histories have. It grew with time: a history has it from this seed on, so that earlier seeds give the histories that they have always
/// given.
enum Feature: UInt64 {
    /// A user has a zone whose share changes.
    case changingShare = 500_000
    /// Records of the zone whose share changes have files.
    case files = 600_000
    /// Engines mirror zones, and records of all places have files.
    case engines = 700_000
    /// Tokens expire, feeds forget deletions, and files without a record are removed.
    case operators = 800_000
    /// Users may join by a link.
    case links = 900_000
    /// Records may leave the shared tree and return.
    case moves = 1_000_000
    /// Devices are lost and replaced.
    case newDevices = 1_100_000
    /// Zones are deleted, purged, lose their keys and are made again; the cloud refuses requests, and what is beyond a quota.
    case endings = 1_200_000
    /// Users sign out and in again while their apps run.
    case sessions = 1_300_000
    /// A guest may be an administrator of the share that changes.
    case administrators = 1_400_000
    /// Apps without an engine follow the feeds of databases.
    case feeds = 1_500_000
    /// Another user signs in on a device while its apps run, and its own user again.
    case visits = 1_600_000
    /// Cal may take part in the share that changes by one-time links.
    case oneTimeLinks = 1_700_000
    /// The share that changes may be Ben's, so that he and Ada are owners and guests at once.
    case owners = 1_800_000
    /// Users change their passwords and recovery words, and sign in with either.
    case passwords = 1_900_000
    /// Cal has two devices, and may replace the account's keys.
    case keyResets = 2_000_000
    /// Guests ask for access to the share that changes, and are admitted, denied or blocked.
    case accessRequests = 2_100_000
    /// Operators set passwords, and new devices that these open no keys for get them from others of their user.
    case keyRequests = 2_200_000
    /// Two servers on one store serve the devices, as a load balancer chooses for each request.
    case servers = 2_300_000
    /// The user who may replace the account's keys may own the share that changes, or be its administrator, and the servers' clocks differ.
    case ownerResets = 2_400_000
    /// The disks of devices are full at times.
    case fullDisks = 2_500_000
    /// Devices lose their power, and with it what their disks had not synced.
    case lostPower = 2_600_000
    /// The clocks of devices are wrong by up to four minutes.
    case deviceClocks = 2_700_000
    /// A guest's account is deleted in some histories, and the guest comes back with a new one of the same address.
    case deletedAccounts = 2_800_000
    /// The operator disables accounts for a while.
    case disabledAccounts = 2_900_000
    /// The cloud is restored from a backup in some histories.
    case restorations = 3_000_000
    /// The cloud has tight limits in most histories: feeds, lists and queries have many pages, batches are too large, or take effect in several
    /// turns.
    case tightLimits = 3_100_000
    /// Some operations are long-lived, and go on when their app starts again.
    case longLivedOperations = 3_200_000
    /// The zone whose share changes may have another shared tree, to which and from which its owner moves records.
    case secondShare = 3_300_000
    /// Between the rounds everything may be off for hours to more than a year, and some devices come back later than others.
    case absences = 3_400_000
    /// Devices go back to backups of all that they have.
    case deviceBackups = 3_500_000
    /// At the end the data of an account may be exported, and imported into a new one.
    case exports = 3_600_000
    /// Devices have an app in a second container, whose zones have the same names.
    case containers = 3_700_000
    /// The app of the second container runs in a process of its own, which also does some of what the first one does.
    case processes = 3_800_000

    /// Returns whether the history of a seed has it.
    func isIn(_ seed: UInt64) -> Bool { seed >= rawValue }
}

extension History {
    /// Returns whether this history has something.
    func has(_ feature: Feature) -> Bool { feature.isIn(seed) }
}
