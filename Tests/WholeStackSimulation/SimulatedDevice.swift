import AccountArchive
import CDeterministicProcess
import CloudKit
import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

/// An account of the cloud.
struct SimulatedUser: Sendable {
    let name: String
    /// The passwords that may be the account's, the likeliest first.
    let passwords: Shared<[String]>
    /// The recovery words that may be the account's, the likeliest first.
    let recoveryWords = Shared<[String]>([])
    /// Whether the operator has set the password, so that it opens no keys, and no device with keys has changed it since.
    let hasOperatorsPassword = Shared(false)

    init(name: String) {
        self.name = name
        passwords = Shared(["password of \(name)"])
    }

    var email: String { name + "@example.com" }
}

/// The ends of the zone in which a device has notes.
struct NotesEndings: Sendable {
    /// Whether the app has asked for the end and knows of no answer.
    let isAskedFor = Shared(false)
    /// Whether users sign out and in again, too.
    let signsOut: Bool
    /// Whether other users sign in, too.
    let hasVisits: Bool
    /// Notes that what the user has written so far may be lost.
    let note: @Sendable () -> Void
}

/// What a device is made of.
struct Hardware: Sendable {
    /// The folder below the profile for files that were fetched, another one in each history of a process; nil: they do not stay.
    var filesFolder: String?
    /// Whether the device loses its power now and then.
    var losesPower = false
    /// The milliseconds by which the clock is ahead.
    var clockError: Int64 = 0
    /// Whether apps have operations that outlive them.
    var keepsOperations = false
    /// Whether a second process uses the profile.
    var hasCompanion = false
}

/// A device of a user: a profile on disk, a network, and the memory of an app, which a crash takes.
final class SimulatedDevice: Sendable {
    let name: String
    let user: SimulatedUser
    private let cloud: SimulatedCloud
    private let chance: Chance
    private let planted: PlantedFault?
    private let apiTokens: [CloudKitModel.Environment: String]
    /// The API token of the diary's container; nil: there is no such app.
    private let diaryToken: String?
    /// Counts the starts; each has a folder of its own with the files of the one before.
    private let life = Shared(0)
    /// Counts the starts of the second process.
    private let companions = Shared(0)
    private let booted = Shared<Booted?>(nil)
    /// The notes app's disk.
    let notesDisk = Shared<Data?>(nil)
    /// The disk of the notes app of the other container.
    private let diaryDisk = Shared<Data?>(nil)
    /// The disk of the app that mirrors zones.
    let mirrorDisk = Shared<Data?>(nil)
    /// The disks of the apps that follow the feeds of databases.
    let feedDisks = Shared<[CKDatabase.Scope: Data]>([:])
    /// The time since which notifications reach the device, which has to register for them; 0: from the beginning.
    let registered = Shared<Int64>(0)
    /// Whether the user has signed out of the device, and not in again.
    let isSignedOut = Shared(false)
    /// Whether another user is signed in on the device, or soon.
    let isVisited = Shared(false)
    /// Whether apps have what the user had whose account was deleted.
    let hasFormerUser = Shared(false)
    /// The number of steps that are under way.
    let steps = Shared(0)
    /// Whether a sign-in with the right password did not open the account's keys.
    let hadNoKeys = Shared(false)
    /// Whether the user waits for a new device to sign in.
    let isLost = Shared(false)
    /// Whether the device's disk is full.
    let isDiskFull = Shared(false)
    /// The long-lived operations whose end no app has learned, by their identifiers.
    let unfinished = Shared<[String: Step.UnfinishedBatch]>([:])
    /// Whether an operation may be gone: its user has signed out, or another one in.
    let mayLoseOperations = Shared(false)
    private let backup = Shared<DeviceBackup?>(nil)
    private let hardware: Hardware
    /// Whether the profile of the next start is there.
    private let isCopied = Shared(false)
    /// The ends of the zone of notes; nil: it stays.
    let notesEndings: NotesEndings?
    /// The ends of the zone of the other container, which no app asks for.
    private let diaryEndings: NotesEndings?
    /// The network's condition, which outlives the app.
    let condition = Shared(SimulatedNetwork.Condition())
    /// The subscriptions whose notifications arrived, and when.
    let received = Shared<[(time: Int64, subscription: String)]>([])

    /// The memory of the running app.
    struct Booted: Sendable {
        let life: Int
        var network: SimulatedNetwork
        var container: CKContainer
        let production: CKContainer
        let notes: NotesApp
        /// What runs beside the notes app.
        fileprivate let companion = Shared<Companion?>(nil)
        /// The number of the second process that it is seen from; 0: it is the first one.
        private(set) var process = 0
        /// The app that mirrors zones, once it has started.
        let mirror = Shared<MirrorApp?>(nil)
        /// The apps that follow the feeds of databases, once they have started.
        let feeds = Shared<[CKDatabase.Scope: FeedApp]>([:])
        let listening: RemoteNotificationObservation
        /// Whether it goes on with the operations of an earlier one.
        let isResuming = Shared(false)

        /// The notes app of the other container, and that container; nil: there is none.
        var diary: (app: NotesApp, container: CKContainer)? { companion.value?.diary }
        /// The notes apps of all containers.
        var notesApps: [NotesApp] { [notes, diary?.app].compactMap(\.self) }

        /// The same as a second process of the profile sees it; nil: there is no such process.
        var inCompanion: Booted? {
            guard let companion = companion.value, let container = companion.container else { return nil }
            var copy = self
            copy.network = companion.network
            copy.container = container
            copy.process = companion.process
            return copy
        }
    }

    /// What runs beside the notes app: in the same process, or in another one of the same profile, which knows only what the profile's files
    /// say.
    fileprivate struct Companion: Sendable {
        /// The number of the second process; 0: it is the notes app's.
        let process: Int
        let network: SimulatedNetwork
        /// The notes app's container; nil: there is no other process.
        let container: CKContainer?
        let diary: (app: NotesApp, container: CKContainer)?
    }

    init(
        _ name: String, of user: SimulatedUser, at cloud: SimulatedCloud,
        apiTokens: [CloudKitModel.Environment: String], _ chance: Chance, planted: PlantedFault?,
        notesEndings: NotesEndings?, diaryToken: String? = nil, diaryEndings: NotesEndings? = nil, hardware: Hardware
    ) {
        self.diaryToken = diaryToken
        self.diaryEndings = diaryEndings
        self.hardware = hardware
        self.name = name
        self.user = user
        self.cloud = cloud
        self.apiTokens = apiTokens
        self.chance = chance
        self.planted = planted
        self.notesEndings = notesEndings
    }

    /// The running app; nil while the device is off.
    var app: Booted? { booted.value }

    private static let folder = "profiles"
    private var profile: String { "\(name).\(life.value)" }

    /// Notes that what the user has written so far in zones of notes may be lost.
    func noteEndings() {
        notesEndings?.note()
        diaryEndings?.note()
    }

    private func configuration(
        _ environment: CloudKitModel.Environment, profile: String? = nil
    ) -> DeviceConfiguration {
        configuration(
            environment, container: SimulatedCloud.container, apiToken: apiTokens[environment], profile: profile)
    }

    private func configuration(
        _ environment: CloudKitModel.Environment, container: String, apiToken: String?, profile: String? = nil
    ) -> DeviceConfiguration {
        let profile = profile ?? self.profile
        return DeviceConfiguration(
            endpoint: cloud.endpoint, container: container, environment: environment.rawValue,
            apiToken: apiToken, profile: profile, profilesFolder: Self.folder,
            // Files have the system's times, and the cloud's clock shows others.
            assetCache: hardware.filesFolder.map {
                AssetCacheSettings(folder: "\(Self.folder)/\(profile)/\($0)", ageMax: 1 << 40)
            })
    }

    /// The account of the device, as commands on it see it.
    var account: SignedInAccount {
        SignedInAccount(
            configuration: configuration(.development), container: SimulatedCloud.container,
            transport: SimulatedNetwork(name, to: cloud, chance, planted: nil))
    }

    /// The folder of an export.
    var exportFolder: String { "\(Self.folder)/\(name).export" }

    /// Fills the device's disk, or makes room on it.
    func fillDisk(_ isFull: Bool) {
        guard isDiskFull.value != isFull else { return }
        isDiskFull.value = isFull
        deterministic_fill_disk(disk, isFull)
        cloud.trail.note("\(name) has \(isFull ? "no room" : "room") on its disk")
    }

    /// Signs a user in, as on a new device.
    ///
    /// - Parameter visitor: Another user than that of the device; nil: this one.
    func signIn(_ visitor: SimulatedUser? = nil) async throws {
        mayLoseOperations.value = true
        let user = visitor ?? user
        let exchange = accountExchange()
        let outcome = try await trying(user.passwords) { password in
            try await exchange.signIn(
                email: user.email, password: password, deviceName: name, container: SimulatedCloud.container)
        }
        note(outcome.keys, of: user)
    }

    /// Signs the user in with the recovery words, as on a new device, and sets a password.
    func recover(password: String) async throws {
        let exchange = accountExchange()
        user.passwords.value.append(password)
        let outcome = try await trying(user.recoveryWords) { words in
            try await exchange.recover(
                email: user.email, words: words, password: password, deviceName: name,
                container: SimulatedCloud.container)
        }
        note(outcome.keys, of: user)
    }

    /// Changes the password on the device.
    func changePassword(to password: String) async throws {
        let exchange = accountExchange(under: condition)
        try await trying(user.passwords) {
            if !user.passwords.value.contains(password) { user.passwords.value.append(password) }
            try await exchange.changePassword(from: $0, to: password, container: SimulatedCloud.container)
        }
    }

    /// Makes new recovery words on the device.
    ///
    /// - Returns: The words.
    func renewRecoveryWords() async throws -> String {
        let exchange = accountExchange(under: condition)
        let words = try await trying(user.passwords) {
            try await exchange.renewRecoveryWords(password: $0, container: SimulatedCloud.container)
        }.joined(separator: " ")
        user.recoveryWords.value.insert(words, at: 0)
        return words
    }

    /// Replaces the account's keys on the device.
    func resetKeys() async throws {
        let exchange = accountExchange(under: condition)
        user.recoveryWords.value = []
        let words = try await trying(user.passwords) {
            try await exchange.resetKeychain(password: $0, container: SimulatedCloud.container)
        }
        user.recoveryWords.value = [words.joined(separator: " ")]
    }

    /// Whether the device has its account's keys.
    var hasKeys: Bool {
        get throws { try configuration(.development).deviceProfile.keychain() != nil }
    }

    /// Asks the user's other devices for the account's keys.
    func requestKeys(_ codes: KeyRequestCodes) async throws {
        let life = life.value
        let exchange = accountExchange(under: condition)
        defer { codes.isOver.value = true }
        try await exchange.requestKeys(
            container: SimulatedCloud.container,
            pause: {
                guard !codes.isOver.value, self.life.value == life else { throw SignInError.notSignedIn }
                try await Task.sleep(for: .seconds(1))
            },
            report: { if case .code(let code) = $0 { codes.requester.value = code } },
            confirm: { await codes.typed(codes.approver) })
    }

    /// Gives another device of the user the account's keys.
    func approveKeyRequest(_ codes: KeyRequestCodes) async throws {
        let exchange = accountExchange(under: condition)
        defer { codes.isOver.value = true }
        let pause: () async throws -> Void = {
            guard !codes.isOver.value else { throw SignInError.notSignedIn }
            try await Task.sleep(for: .seconds(1))
        }
        while try await exchange.keyRequests(container: SimulatedCloud.container).isEmpty { try await pause() }
        let answered = try await exchange.answerKeyRequest(of: nil, container: SimulatedCloud.container, pause: pause)
        _ = try await exchange.approve(
            answered, container: SimulatedCloud.container, pause: pause,
            ask: { await codes.typed(codes.requester) }, report: { codes.approver.value = $0 })
    }

    /// Trusts the present keys of another user, as after comparing fingerprints.
    func trust(_ other: SimulatedUser) async throws {
        let exchange = accountExchange()
        try exchange.trust(
            try await exchange.identity(ofAddress: other.email, container: SimulatedCloud.container))
    }

    /// Tries what may be right until something is not refused as wrong; that is tried last from then on.
    private func trying<Result>(
        _ candidates: Shared<[String]>, _ body: (String) async throws -> Result
    ) async throws -> Result {
        var failure: any Error = SignInError.notSignedIn
        for candidate in candidates.value {
            do {
                return try await body(candidate)
            } catch SignInError.refused(let refusal) where refusal.code == "authenticationFailed" {
                failure = SignInError.refused(refusal)
                guard let place = candidates.value.firstIndex(of: candidate) else { continue }
                candidates.value.append(candidates.value.remove(at: place))
            }
        }
        throw failure
    }

    private func note(_ keys: SignIn.Outcome.Keys, of user: SimulatedUser) {
        switch keys {
        case .opened: break
        case .made(let words): user.recoveryWords.value = [words.joined(separator: " ")]
        case .locked: if !user.hasOperatorsPassword.value { hadNoKeys.value = true }
        }
    }

    /// Signs the user out, while the app runs.
    ///
    /// - Throws: When the cloud does not answer; the user is signed out nevertheless.
    func signOut() async throws {
        mayLoseOperations.value = true
        try await accountExchange(under: condition)
            .signOut(container: SimulatedCloud.container)
    }

    /// - Parameter condition: Of the network.
    private func accountExchange(under condition: Shared<SimulatedNetwork.Condition> = Shared(.init())) -> SignIn {
        let network = SimulatedNetwork(name, to: cloud, chance, condition: condition, planted: nil)
        return SignIn(configuration: configuration(.development), rounds: 10) { request in
            guard let message = TransportRequest(request) else { throw SignInError.answerMalformed }
            let response = try await network.send(message)
            return DeviceResponse(status: response.status, body: response.body)
        }
    }

    /// Ends the app in the midst of whatever it does, and takes back some of what the disk has not synced.
    func losePower() {
        guard booted.value != nil else { return }
        crash(keepsFiles: false)
        let count = Int(deterministic_unsynced(disk))
        let kept = chance.number(0..<count + 1)
        let session = session
        deterministic_lose_power(disk, Int32(kept))
        cloud.trail.note("\(name) loses \(count - kept) of \(count) unsynced changes")
        if session != self.session, !isSignedOut.value {
            // The user notices it, and signs in again.
            cloud.trail.note("\(name) has lost its sign-in")
            isSignedOut.value = true
            registered.value = .max
        }
        // Calls of the ended app still write.
        isCopied.value = (try? copyProfile()) != nil
    }

    /// Copies the profile for the next start: the framework keeps some things for each profile in the process, so that a restarted device is a
    /// profile with the same files.
    private func copyProfile() throws {
        try copy("\(Self.folder)/\(profile)", to: nextFolder)
        life.value += 1
    }

    /// The profile's folder after the next start.
    private var nextFolder: String { "\(Self.folder)/\(name).\(life.value + 1)" }

    /// Copies a folder within the device's disk, also when that is full.
    private func copy(_ before: String, to after: String) throws {
        deterministic_fill_disk(disk, false)
        defer { deterministic_fill_disk(disk, isDiskFull.value) }
        do {
            try FileManager.default.copyItem(atPath: before, toPath: after)
        } catch {
            // Calls of the ended app still replace files.
            try? FileManager.default.removeItem(atPath: after)
            throw error
        }
        deterministic_sync_disk(disk)
    }

    /// What a backup of the device has beside the profile's files.
    private struct DeviceBackup {
        var session: String
        var circumstances: [String]
        var notes: Data?
        var diary: Data?
        var mirror: Data?
        var feeds: [CKDatabase.Scope: Data]
    }

    private var backupFolder: String { "\(Self.folder)/\(name).backup" }

    /// Takes a backup of all that the device has.
    ///
    /// - Parameter circumstances: With others the backup is of no use.
    func backUp(_ circumstances: [String]) throws {
        guard let session, booted.value != nil, !isSignedOut.value, !isVisited.value, try hasKeys else { return }
        try? FileManager.default.removeItem(atPath: backupFolder)
        try copy("\(Self.folder)/\(profile)", to: backupFolder)
        backup.value = DeviceBackup(
            session: session, circumstances: circumstances, notes: notesDisk.value, diary: diaryDisk.value,
            mirror: mirrorDisk.value, feeds: feedDisks.value)
        cloud.trail.note("\(name) is backed up")
    }

    /// Ends the app, and puts the backup in the place of all that the device has.
    ///
    /// - Returns: Whether it did: there is a backup, of the same session.
    func goBack(_ circumstances: [String]) throws -> Bool {
        guard let backup = backup.value, booted.value != nil, !isSignedOut.value, !isVisited.value, !isLost.value,
            backup.session == session, backup.circumstances == circumstances
        else { return false }
        self.backup.value = nil
        crash(keepsFiles: false)
        try copy(backupFolder, to: nextFolder)
        life.value += 1
        isCopied.value = true
        notesDisk.value = backup.notes
        diaryDisk.value = backup.diary
        mirrorDisk.value = backup.mirror
        feedDisks.value = backup.feeds
        unfinished.value = [:]
        mayLoseOperations.value = true
        registered.value = .max
        // It may delete the zone of notes again.
        notesEndings?.isAskedFor.value = true
        noteEndings()
        cloud.trail.note("\(name) goes back to its backup")
        return true
    }

    /// The identifier of the session with which the user is signed in; nil: the user is not, or the profile cannot be read.
    var session: String? {
        let profile = DeviceProfile(name: profile, in: Self.folder)
        return (try? profile.credentials())?.deviceID
    }

    /// Accepts the earlier state of a cloud that was restored.
    func acceptRestorations() throws {
        try DeviceProfile(name: profile, in: Self.folder).acceptRestorations(of: cloud.endpoint)
    }

    /// Confirms the participants of shares about whom the device asks its user.
    func confirmParticipants() throws {
        let profile = DeviceProfile(name: profile, in: Self.folder)
        let questions = try profile.shareQuestions().open
        if !questions.isEmpty { try profile.confirm(questions) }
    }

    /// The beginning of the names of the device's folders.
    private var disk: String { "\(Self.folder)/\(name)." }

    /// Gives the user a new device in place of this one, which is lost with all that it holds.
    ///
    /// - Parameter password: Signs in with the recovery words and sets this password; nil: signs in with the password.
    /// - Throws: When the cloud does not answer; then there is no device until the user has tried again.
    func replace(settingPassword password: String? = nil) async throws {
        crash()
        fillDisk(false)
        isCopied.value = false
        unfinished.value = [:]
        isLost.value = true
        isSignedOut.value = false
        registered.value = .max
        life.value += 1
        notesDisk.value = nil
        diaryDisk.value = nil
        mirrorDisk.value = nil
        feedDisks.value = [:]
        cloud.trail.note("\(name) is replaced")
        if let password { try await recover(password: password) } else { try await signIn() }
        isLost.value = false
    }

    /// Starts the app with what the device's disk has.
    func boot() throws {
        guard booted.value == nil else { return }
        if life.value > 0 {
            if !isCopied.value { try copyProfile() }
            isCopied.value = false
        } else {
            life.value = 1
            try FileManager.default.moveItem(
                atPath: "\(Self.folder)/\(name).0", toPath: "\(Self.folder)/\(profile)")
            if hardware.losesPower { deterministic_watch_disk(disk) }
        }
        let network = SimulatedNetwork(name, to: cloud, chance, condition: condition, planted: planted)
        let container = CKContainer(
            configuration: configuration(.development), transport: network, clientEnvironment: clock)
        let received = received
        let trail = cloud.trail
        let name = name
        let app = Booted(
            life: life.value, network: network, container: container,
            production: CKContainer(
                configuration: configuration(.production), transport: network, clientEnvironment: clock),
            notes: try NotesApp(
                container.privateCloudDatabase, disk: notesDisk, network: network, endings: notesEndings),
            listening: container.observeRemoteNotifications { notification in
                guard !network.isGone, let id = notification.notification?.subscriptionID else { return }
                received.value.append((trail.time, id))
                trail.note("\(name) notified of \(id)")
            })
        app.companion.value = try hardware.hasCompanion ? bootCompanion() : companion(sharing: network)
        booted.value = app
    }

    private var clock: ClientClock {
        var clock = ClientClock.system
        let clockError = hardware.clockError
        if clockError != 0 { clock.milliseconds = { DeviceProfile.now + clockError } }
        return clock
    }

    /// Makes what runs beside the notes app.
    ///
    /// - Parameters:
    ///   - network: Of the process.
    ///   - process: The number of the second process; 0: it is the notes app's process.
    private func companion(sharing network: SimulatedNetwork, in process: Int = 0) throws -> Companion {
        let other = process > 0 ? "\(profile).\(process)" : nil
        let container = other.map { profile in
            CKContainer(
                configuration: configuration(.development, profile: profile), transport: network,
                clientEnvironment: clock)
        }
        guard let diaryToken else {
            return Companion(process: process, network: network, container: container, diary: nil)
        }
        let diary = CKContainer(
            configuration: configuration(
                .development, container: SimulatedCloud.diaryContainer, apiToken: diaryToken, profile: other),
            transport: network, clientEnvironment: clock)
        let app = try NotesApp(
            diary.privateCloudDatabase, disk: diaryDisk, network: network, endings: diaryEndings)
        return Companion(process: process, network: network, container: container, diary: (app, diary))
    }

    /// Starts the second process of the profile: what the framework keeps in the memory of a process it keeps for the name of a profile, so
    /// the process has the profile's folder under another name.
    private func bootCompanion() throws -> Companion {
        companions.value += 1
        try FileManager.default.createSymbolicLink(
            atPath: "\(Self.folder)/\(profile).\(companions.value)", withDestinationPath: profile)
        return try companion(
            sharing: SimulatedNetwork(name, to: cloud, chance, condition: condition, planted: planted),
            in: companions.value)
    }

    /// Ends the second process of the profile in the midst of whatever it does, and starts it again.
    func restartCompanion() async throws {
        guard let app = booted.value, let companion = app.companion.value, companion.container != nil else { return }
        cloud.trail.note("\(name) ends its second process")
        companion.network.end()
        let next = try bootCompanion()
        app.companion.value = next
        await next.diary?.app.start()
    }

    /// Ends the app in the midst of whatever it does.
    ///
    /// - Parameter keepsFiles: Whether the next start has the files of this moment, as operations that go on then need.
    func crash(keepsFiles: Bool = true) {
        guard let app = booted.value else { return }
        cloud.trail.note("\(name) ends")
        app.network.end()
        app.companion.value?.network.end()
        booted.value = nil
        if keepsFiles, hardware.keepsOperations { isCopied.value = (try? copyProfile()) != nil }
    }
}
