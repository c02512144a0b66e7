import CDeterministicProcess
import CloudKit
import CloudKitAccounts
import CloudKitDevice
import CloudKitModel
import CloudKitServer
import Foundation

/// One history of the whole stack, which follows from its seed: users with devices, which do random things at once on a bad network,
/// above a cloud that ends now and then, above a disk that fails.
final class History: Sendable {
    let seed: UInt64
    let trail = Trail()
    let ledger = Ledger()
    let chance: Chance
    let disk: Disk
    let cloud: SimulatedCloud
    let devices: [SimulatedDevice]
    /// The device of a user who visits those of others; nil: there is none.
    let visitor: SimulatedDevice?
    /// The device of the user with whom another tree is shared; nil: none is.
    let observer: SimulatedDevice?
    /// The devices of users who do nothing else at random.
    var others: [SimulatedDevice] { [visitor, observer].compactMap(\.self) }
    let webClients = Shared<[String: WebClient]>([:])
    /// What apps know of zones.
    let followed = Shared<[Follower: Followed]>([:])
    let isFollowing = Shared<Set<Follower>>([])
    /// Whether requests may take effect although an error came back that says they did not: the network repeats messages, and the disk
    /// commits what it reports as failed.
    let repeats: Bool
    /// The rights in the shared zone of those who have any.
    let rights = Shared<[String: Place.Writes]>([:])
    /// The zone that Ada shares, as she names it.
    let club = CKRecordZone.ID(zoneName: "Club")
    /// Whether the zone is shared as a whole.
    let sharesZone: Bool
    /// The members of the share that changes; nil in histories without one.
    let sharing: SharingLedger?
    /// Ada's name in the container.
    let ownerName = Shared("")
    /// The names in the container of all users.
    let userNames = Shared<[String: String]>([:])
    /// The stamp from which on the edits of a user's notes cannot have been lost with their zone.
    let notesEnded = Shared<[String: Int]>([:])
    /// The same for the notes of the other container.
    let diaryEnded = Shared<[String: Int]>([:])
    /// The name in the container of the user whose account is deleted, or is about to be; empty: none is.
    let deletedName = Shared("")
    /// The users whose accounts are disabled, or may be.
    let disabled = Shared<Set<String>>([])
    /// The backup to which the cloud may be restored; nil: there is none.
    let backup = Shared<Backup?>(nil)
    /// Whether devices do things at once, and may end.
    let isPassing = Shared(false)
    /// Whether something is being made to go wrong.
    let isMakingTrouble = Shared(false)
    /// The number of devices whose apps have ended by themselves, and start again soon.
    let restarting = Shared(0)
    /// How far the cloud's restoration has come.
    let restoration = Shared(Restoration.none)
    /// Whether that account is gone.
    let isDeleted = Shared(false)
    /// The users who have other keys than at the beginning, or tried to replace them.
    let keysReset = Shared<Set<String>>([])
    /// The devices that get the account's keys from others.
    let keyExchanges = Shared<[Task<Void, Never>]>([])
    /// Whether the zone whose share changes has keys for the zone alone.
    let hasCircleZoneKeys = Shared(false)
    /// The time from which a user's subscriptions exist.
    let subscribed = Shared<[String: Int64]>([:])
    let apiTokens: [CloudKitModel.Environment: String]
    /// The API token of the container of another app; nil: there is no such app.
    let diaryToken: String?
    private var apiToken: String { apiTokens[.development] ?? "" }
    private let found = Shared<[String]>([])
    private let grown = Shared<Set<String>>([])

    static let users = ["ada", "ben", "cal"]

    /// The violations of invariants that were found.
    var violations: [String] { found.value }
    /// The record types that development has got by acknowledged saves.
    var grownTypes: [String] { grown.value.sorted() }

    func violated(_ description: String) {
        // Addresses of objects differ from run to run.
        let text = description.replacing(/0x[0-9a-f]+/, with: "")
        trail.note("VIOLATED \(text)")
        if found.value.count < 50 { found.value.append("\(trail.time) \(text)") }
    }

    func note(grown type: String) { grown.value.insert(type) }

    func forgetGrown() { grown.value = [] }

    private init(seed: UInt64, planted: PlantedFault?) async throws {
        self.seed = seed
        chance = Chance(seed: planted == .chance ? seed &+ UInt64(getpid()) : seed, subject: 0)
        repeats = seed % 2 == 1
        sharesZone = chance.percent(40)
        if Feature.changingShare.isIn(seed) {
            let sharesZone = chance.percent(40)
            let hasAdministrators = Feature.administrators.isIn(seed)
            let isPublic = Feature.links.isIn(seed) && chance.percent(hasAdministrators ? 30 : 60)
            let hasMoves = Feature.moves.isIn(seed) && !sharesZone && chance.percent(70)
            let owner = Feature.owners.isIn(seed) && chance.percent(70) ? "ben" : "ada"
            let other = owner == "ada" ? "ben" : "ada"
            let guests = chance.percent(50) || hasAdministrators ? [other, "cal"] : [other]
            let hasOneTimeLinks = Feature.oneTimeLinks.isIn(seed) && !isPublic && chance.percent(60)
            sharing = SharingLedger(
                owner: owner, sharesZone: sharesZone, isPublic: isPublic,
                takesRequests: Feature.accessRequests.isIn(seed) && !isPublic && !hasOneTimeLinks, hasMoves: hasMoves,
                guests: guests, oneTimeGuest: hasOneTimeLinks ? "cal" : nil, trail: trail)
        } else {
            sharing = nil
        }
        disk = Disk(Chance(seed: seed, subject: 1), trail: trail, planted: planted)
        // Files are sent to no others than secure addresses.
        cloud = SimulatedCloud(
            disk: disk, trail: trail, name: "cloud-\(seed)", isSecure: Feature.files.isIn(seed),
            limits: Self.limits(seed, chance), servers: Feature.servers.isIn(seed) ? 2 : 1,
            clockDifference: Feature.ownerResets.isIn(seed) ? Int64(chance.number(-3000..<3000)) : 0,
            Chance(seed: seed, subject: 2))
        cloud.start()
        guard let accounts = cloud.cloud?.accountStore else { throw CancellationError() }
        var tokens: [CloudKitModel.Environment: String] = [:]
        for environment in [CloudKitModel.Environment.development, .production] {
            tokens[environment] =
                try await accounts.apiTokens.create(
                    container: ContainerID(SimulatedCloud.container), environment: environment, name: "simulation"
                ).token
        }
        apiTokens = tokens
        diaryToken =
            Feature.containers.isIn(seed)
            ? try await accounts.apiTokens.create(
                container: ContainerID(SimulatedCloud.diaryContainer), environment: .development, name: "diary"
            ).token : nil
        var devices: [SimulatedDevice] = []
        let chance = chance
        func hardware() -> Hardware {
            Hardware(
                filesFolder: Feature.fullDisks.isIn(seed) ? "files-\(seed)" : nil,
                losesPower: Feature.lostPower.isIn(seed),
                clockError: Feature.deviceClocks.isIn(seed) ? Int64(chance.number(-240_000..<240_000)) : 0,
                keepsOperations: Feature.longLivedOperations.isIn(seed),
                hasCompanion: Feature.processes.isIn(seed))
        }
        let ledger = ledger
        func endings(_ ended: Shared<[String: Int]>, of user: String) -> NotesEndings? {
            guard Feature.endings.isIn(seed) else { return nil }
            return NotesEndings(
                signsOut: Feature.sessions.isIn(seed), hasVisits: Feature.visits.isIn(seed)
            ) {
                ended.value[user] = ledger.makeStamp()
            }
        }
        for name in Self.users {
            let user = try await Self.addUser(name, to: accounts)
            for number in 1...(name == "cal" && !Feature.keyResets.isIn(seed) ? 1 : 2) {
                let device = SimulatedDevice(
                    "\(name)-\(number)", of: user, at: cloud, apiTokens: tokens,
                    Chance(seed: seed, subject: UInt64(10 + devices.count)), planted: planted,
                    notesEndings: endings(notesEnded, of: name), diaryToken: diaryToken,
                    diaryEndings: endings(diaryEnded, of: name), hardware: hardware())
                try await device.signIn()
                try device.boot()
                devices.append(device)
            }
        }
        self.devices = devices
        if Feature.secondShare.isIn(seed), sharing?.hasMoves == true {
            let observer = SimulatedDevice(
                Self.observer + "-1", of: try await Self.addUser(Self.observer, to: accounts), at: cloud,
                apiTokens: tokens, Chance(seed: seed, subject: UInt64(50)), planted: nil, notesEndings: nil,
                hardware: Hardware())
            try await observer.signIn()
            try observer.boot()
            self.observer = observer
        } else {
            observer = nil
        }
        guard Feature.visits.isIn(seed) else {
            visitor = nil
            return
        }
        let visitor = SimulatedDevice(
            Self.visitor + "-1", of: try await Self.addUser(Self.visitor, to: accounts), at: cloud, apiTokens: tokens,
            Chance(seed: seed, subject: UInt64(10 + devices.count)), planted: nil, notesEndings: nil,
            diaryToken: diaryToken, hardware: Hardware())
        try await visitor.signIn()
        try visitor.boot()
        self.visitor = visitor
    }

    /// Makes a user with an account.
    static func addUser(_ name: String, to store: AccountStore) async throws -> SimulatedUser {
        let user = SimulatedUser(name: name)
        try await add(user, to: store)
        return user
    }

    /// Makes the account of a user.
    static func add(_ user: SimulatedUser, to store: AccountStore) async throws {
        let derivation = store.accounts.newDerivation(rounds: 10)
        let proof = try PasswordProof(
            password: user.passwords.value[0], salt: derivation.salt, rounds: derivation.rounds)
        _ = try await store.accounts.add(
            email: user.email, name: user.name, proof: proof.bytes, derivation: derivation)
    }

    /// Runs the history of a seed.
    ///
    /// - Returns: nil if it could not begin.
    static func run(seed: UInt64, planted: PlantedFault? = nil) async -> History? {
        do {
            let history = try await History(seed: seed, planted: planted)
            do {
                try await history.prepare()
                for round in 0..<2 {
                    await history.pass(round)
                    try await history.heal()
                    try await history.judge(isLast: round == 1)
                    if round == 0 { try await history.beAway() }
                }
            } catch {
                history.violated("the history cannot go on: \((error as? CKError)?.localizedDescription ?? "\(error)")")
            }
            return history
        } catch {
            FileHandle.standardError.write(Data("seed \(seed): \(error)\n".utf8))
            return nil
        }
    }

    // MARK: The beginning

    /// Makes what histories begin with, undisturbed: zones, a share, subscriptions, web clients.
    private func prepare() async throws {
        for device in devices where device.name.hasSuffix("-1") {
            guard let app = device.app else { continue }
            let user = device.user.name
            let database = app.container.privateCloudDatabase
            if has(.operators) { userNames.value[user] = try await app.container.userRecordID().recordName }
            try await database.save(CKRecordZone(zoneName: "Work"))
            try await post(user, app.container)
            try await subscribe(user, app.container)
            try await makeWebClient(of: device, app)
        }
        try await prepareShare()
        try await prepareCircle()
        try await prepareVisits()
        for device in devices { try await startApps(of: device) }
    }

    /// Gives a user a client of web services.
    func makeWebClient(of device: SimulatedDevice, _ app: SimulatedDevice.Booted) async throws {
        let user = device.user.name
        let operation = CKFetchWebAuthTokenOperation(apiToken: apiToken)
        let token: String = try await withCheckedThrowingContinuation { continuation in
            operation.fetchWebAuthTokenResultBlock = { continuation.resume(with: $0) }
            app.container.privateCloudDatabase.add(operation)
        }
        webClients.value[user] = WebClient(
            network: SimulatedNetwork(
                user + "-web", to: cloud, Chance(seed: seed, subject: UInt64(30 + webClients.value.count)),
                condition: device.condition, planted: nil),
            endpoint: cloud.endpoint, apiToken: apiToken, token: token)
    }

    /// Saves the first public record of a user: a type has to be there before it can be asked for.
    private func post(_ user: String, _ container: CKContainer) async throws {
        let post = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: user + "0"))
        let stamp = ledger.makeStamp()
        try Content(stamp: stamp).fill(post, at: publicPlace)
        let attempt = ledger.begin(
            Cell(owner: "public", zone: CKRecordZone.ID.defaultZoneName, name: user + "0"), stamp: stamp,
            by: user + "-1", at: trail.time)
        try await container.publicCloudDatabase.save(post)
        ledger.end(attempt, .done, at: trail.time)
    }

    /// Saves the subscriptions of a user.
    func subscribe(_ user: String, _ container: CKContainer) async throws {
        let posts = CKQuerySubscription(
            recordType: "Post", predicate: NSPredicate(format: "n < 5"), subscriptionID: user + "-posts",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        let work = CKRecordZoneSubscription(
            zoneID: CKRecordZone.ID(zoneName: "Work"), subscriptionID: user + "-work")
        let all = CKDatabaseSubscription(subscriptionID: user + "-all")
        for subscription in [posts, work, all] as [CKSubscription] {
            let information = CKSubscription.NotificationInfo()
            information.shouldSendContentAvailable = true
            subscription.notificationInfo = information
        }
        try await container.publicCloudDatabase.save(posts)
        try await container.privateCloudDatabase.save(work)
        try await container.privateCloudDatabase.save(all)
        subscribed.value[user] = trail.time
    }

    private func prepareShare() async throws {
        guard let ada = devices[0].app?.container else { return }
        ownerName.value = try await ada.userRecordID().recordName
        let database = ada.privateCloudDatabase
        let vault = CKRecordZone(zoneName: "Vault")
        vault.encryptionScope = .perZone
        try await database.save(vault)
        let zone = CKRecordZone(zoneID: club)
        if sharesZone, chance.percent(50) { zone.encryptionScope = .perZone }
        try await database.save(zone)
        let root = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "Root", zoneID: club))
        let share = sharesZone ? CKShare(recordZoneID: club) : CKShare(rootRecord: root)
        var guests = ["ben"]
        if chance.percent(50) { guests.append("cal") }
        for guest in guests {
            let participant = try await ada.shareParticipant(forEmailAddress: guest + "@example.com")
            let mayWrite = guest == "ben" && chance.percent(75)
            participant.permission = mayWrite ? .readWrite : .readOnly
            rights.value[guest] = mayWrite ? .all : Place.Writes.none
            share.addParticipant(participant)
        }
        let saved = try await database.modifyRecords(saving: sharesZone ? [share] : [root, share], deleting: [])
        guard let url = (try saved.saveResults[share.recordID]?.get() as? CKShare)?.url else {
            throw CKError(.internalError)
        }
        if !sharesZone {
            let outside = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "outside", zoneID: club))
            let stamp = ledger.makeStamp()
            try Content(stamp: stamp).fill(outside, at: clubPlace(zoneID: club, scope: .private, writes: .all))
            let attempt = ledger.begin(
                Cell(owner: "ada", zone: "Club", name: "outside"), stamp: stamp, by: "ada-1", at: trail.time)
            try await database.save(outside)
            ledger.end(attempt, .done, at: trail.time)
        }
        for device in devices where guests.contains(device.user.name) && device.name.hasSuffix("-1") {
            guard let guest = device.app?.container else { continue }
            _ = try await guest.accept(try await guest.shareMetadata(for: url))
        }
    }

    /// Returns the zones that a device may reach.
    func places(of device: SimulatedDevice) -> [Place] {
        let user = device.user.name
        var places = [ownPlace(CKRecordZone.ID(zoneName: "Work"), of: user), ownPlace(.default, of: user), publicPlace]
        if user == "ada" {
            places.append(ownPlace(CKRecordZone.ID(zoneName: "Vault"), of: user))
            places.append(clubPlace(zoneID: club, scope: .private, writes: .all))
        } else if let writes = rights.value[user] {
            let shared = CKRecordZone.ID(zoneName: "Club", ownerName: ownerName.value)
            places.append(clubPlace(zoneID: shared, scope: .shared, writes: writes))
        }
        if user == circleOwner, let circle = circle(of: device) { places.append(circle) }
        return places
    }

    /// Returns a zone as a device reaches it.
    func place(_ zoneID: CKRecordZone.ID, of device: SimulatedDevice) -> Place {
        let known = places(of: device) + (circle(of: device).map { [$0] } ?? [])
        if let place = known.first(where: { $0.zoneID == zoneID && $0.scope != .public }) { return place }
        // An answer to a guest whose account was deleted meanwhile.
        if zoneID.zoneName == club.zoneName, zoneID.ownerName == ownerName.value {
            return clubPlace(zoneID: zoneID, scope: .shared, writes: Place.Writes.none)
        }
        return ownPlace(zoneID, of: device.user.name)
    }

    /// Returns the scope of the keys of one of Ada's zones.
    func encryptionScope(of zoneID: CKRecordZone.ID) -> CKRecordZone.EncryptionScope {
        zoneID.zoneName == "Vault" || (zoneID == Self.circle && hasCircleZoneKeys.value) ? .perZone : .perRecord
    }

    /// Returns a zone of a user's own.
    func ownPlace(_ zoneID: CKRecordZone.ID, of user: String) -> Place {
        Place(owner: user, scope: .private, zoneID: zoneID, writes: .all, hasFiles: has(.engines))
    }

    var publicPlace: Place {
        Place(owner: "public", scope: .public, zoneID: .default, writes: .own, hasFiles: has(.engines))
    }

    private func clubPlace(zoneID: CKRecordZone.ID, scope: CKDatabase.Scope, writes: Place.Writes) -> Place {
        Place(
            owner: "ada", scope: scope, zoneID: zoneID, writes: writes,
            root: sharesZone ? nil : CKRecord.ID(recordName: "Root", zoneID: zoneID), hasFiles: has(.engines))
    }

    // MARK: Engines

    /// Returns the database whose zones a device mirrors: its own for the owner of the share that changes, and the shared one for the others.
    func mirrorScope(of device: SimulatedDevice) -> CKDatabase.Scope {
        device.user.name == circleOwner ? .private : .shared
    }

    /// Starts the apps of a device that has started.
    func startApps(of device: SimulatedDevice) async throws {
        guard let app = device.app else { return }
        for notes in app.notesApps { await notes.start() }
        guard has(.engines) else { return }
        let mirror = try MirrorApp(device, app, in: self)
        app.mirror.value = mirror
        await mirror.start()
        guard has(.feeds) else { return }
        for scope in [CKDatabase.Scope.private, .shared] {
            app.feeds.value[scope] = try FeedApp(scope, of: device, app, in: self)
        }
        resumeOperations(of: device, app)
    }
}
