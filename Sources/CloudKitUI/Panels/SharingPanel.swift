import AsyncLocks
import CloudKit

/// The panel of one share: what it shows, and the actions of a person, each an operation of the framework.
///
/// Below all displays. Actions take their turns; each ends with a content that says what came of it.
@MainActor
final class SharingPanel {
    private let client: any PanelClient
    private let options: PanelOptions
    private let turns = AsyncMutex()
    private var closeHandlers: [() -> Void] = []
    /// nil before the share was made.
    private(set) var subject: (share: CKShare, container: CKContainer)?
    /// What the app said when the panel opened; with an image where nothing was shared yet.
    private let introduction: PanelIntroduction
    private var earlier: [EarlierPerson] = []
    private var hasLookedForEarlier = false
    private var codes: [String: QRCode?] = [:]
    private var version = 0
    /// Whether the last attempt to look for changes failed.
    private var isOffline = false
    private(set) var isClosed = false
    private(set) var content: PanelContent

    /// - Parameter subject: The existing share; nil: the client prepares one (B-UI-01).
    init(_ subject: (share: CKShare, container: CKContainer)?, client: any PanelClient, options: PanelOptions) {
        self.client = client
        self.options = options
        self.subject = subject
        let introduction = client.introduction(isNew: subject == nil)
        self.introduction = introduction
        content =
            subject.map { .shared(SharedItem($0.share), introduction: introduction, options: options) }
            ?? .new(introduction, options: options)
        show(nil)
    }

    /// The share as it was saved last; nil before there is one.
    var share: CKShare? { subject?.share }

    /// Calls the handler when the panel is closed.
    func whenClosed(_ handler: @escaping () -> Void) {
        if isClosed { handler() } else { closeHandlers.append(handler) }
    }

    /// Closes the panel; what is being saved is saved.
    func close() {
        isClosed = true
        for handler in closeHandlers { handler() }
        closeHandlers = []
    }

    /// Does what the person chose, and returns what the panel shows then.
    @discardableResult
    func perform(_ action: PanelAction) async -> PanelContent {
        if action == .close {
            close()
            return content
        }
        await turns.withLock {
            guard !isClosed, content.phase != .ended else { return }
            do {
                if action == .stop || action == .leave {
                    try await end(action)
                } else {
                    let message = try await outcome(of: action)
                    isOffline = false
                    show(message)
                }
            } catch {
                fail(error, action)
            }
        }
        return content
    }

    // MARK: Showing

    /// Shows the share as it is now, with what came of an action.
    private func show(_ message: PanelContent.Message?) {
        let introduction = client.introduction(isNew: false)
        var next = content
        if let subject {
            next = .shared(SharedItem(subject.share), introduction: introduction, options: options)
            if var link = next.link, let code = code(of: link.address) {
                link.side = code.sideWithMargin
                link.path = code.path
                next.link = link
            }
        }
        if next.offersInvitation {
            let present = Set(subject?.share.participants.compactMap { $0.userIdentity.userRecordID?.recordName } ?? [])
            next.earlier = earlier.filter { !present.contains($0.id) }.map(\.shown)
        }
        next.message = message
        replace(next)
    }

    private func replace(_ next: PanelContent) {
        var next = next
        next.version = version
        guard next != content || version == 0 else { return }
        version += 1
        next.version = version
        content = next
    }

    private func code(of address: String) -> QRCode? {
        if let known = codes[address] { return known }
        let code = QRCode(Array(address.utf8))
        codes[address] = code
        return code
    }

    private func fail(_ error: any Error, _ action: PanelAction) {
        isOffline = action == .refresh
        let owner = subject.flatMap { SharedItem($0.share).otherOwner?.shownName }
        let problem = PanelProblem(error, owner: owner)
        if problem.endsSharing, subject?.share.recordChangeTag != nil {
            let text = PanelContent.Message(isProblem: true, text: problem.reason, remedy: problem.remedy)
            replace(.ended(title: content.title, message: text))
        } else {
            show(PanelContent.Message(isProblem: true, text: problem.reason, remedy: problem.remedy))
        }
        report(error, action)
    }

    private func report(_ error: any Error, _ action: PanelAction) {
        // What never reached the share is for the person alone.
        guard action != .refresh, !(error is PanelProblem) else { return }
        if let subject {
            let id = subject.share.recordID
            if action == .stop || action == .leave {
                CKSystemSharingUIObserver.report(stopping: id, .failure(error), in: subject.container)
            } else {
                CKSystemSharingUIObserver.report(saving: id, .failure(error), in: subject.container)
            }
        }
        client.panelDidFail(error)
    }

    // MARK: Actions

    private func outcome(of action: PanelAction) async throws -> PanelContent.Message? {
        switch action {
        case .refresh: return try await refresh()
        case .start(let access, let addresses, let permission):
            return try await start(access, addresses: addresses, permission)
        case .invite(let addresses, let permission): return try await invite(addresses, permission)
        case .inviteEarlier(let person, let permission): return try await invite(earlier: person, permission)
        case .setPermission(let person, let permission):
            try check(options.permissions.contains(permission))
            return try await edit(person, permission == .readOnly ? "can only view now" : "can make changes now") {
                $0.permission = permission.participantPermission
            }
        case .setInviting(let person, let isOn):
            try check(options.offersInviting && SharedItem(try subjectOrThrow().share).part == .owner)
            return try await edit(person, isOn ? "may invite others now" : "cannot invite others any more") {
                $0.role = isOn ? .administrator : .privateUser
            }
        case .remove(let person): return try await remove(person)
        case .setAccess(let access): return try await set(access)
        case .setAccessRequests(let isOn):
            try await change { $0.allowsAccessRequests = isOn }
            return .done(isOn ? "People with the link can ask for access." : "Nobody can ask for access any more.")
        case .approve(let person, let permission): return try await approve(person, permission)
        case .deny(let person):
            return try await answer(person, "was sent away, and may ask again") { $0.denyRequesters($1) }
        case .block(let person): return try await answer(person, "is blocked") { $0.blockRequesters($1) }
        case .unblock(let person): return try await unblock(person)
        case .addOneTimeLink(let permission): return try await addOneTimeLink(permission)
        case .stop, .leave, .close: return nil
        }
    }

    private func check(_ isOffered: Bool) throws(PanelProblem) {
        if !isOffered { throw .notOffered }
    }

    private func subjectOrThrow() throws(PanelProblem) -> (share: CKShare, container: CKContainer) {
        guard let subject else {
            throw PanelProblem(reason: "Nothing is shared yet.", remedy: "Choose who may join, and share it.")
        }
        return subject
    }

    private func refresh() async throws -> PanelContent.Message? {
        if !hasLookedForEarlier, content.offersInvitation {
            hasLookedForEarlier = true
            earlier = await earlierPeople()
        }
        // What came of the last action stays to be read; that the cloud could not be reached is over.
        let message = isOffline ? nil : content.message
        guard let subject, subject.share.recordChangeTag != nil else { return message }
        self.subject?.share = try await fetch(subject.share, in: subject.container)
        return message
    }

    /// Begins to share: the app saves its record with the share, then people are added (B-UI-01).
    private func start(
        _ access: PanelAccess, addresses: String, _ permission: PanelPermission
    ) async throws -> PanelContent.Message? {
        guard subject == nil else { return .done("This is shared already.") }
        try check(options.access.contains(access) && options.permissions.contains(permission))
        let list = try AddressList(addresses, mayBeEmpty: true)
        let (share, container) = try await client.prepareShare()
        subject = (share, container)
        let people = access == .invited ? try await participants(list, permission, in: container) : []
        let introduction = introduction
        try await change { share in
            share.introduce(introduction)
            share.publicPermission = access.publicPermission
            for person in people { share.addParticipant(person) }
        }
        return .done(
            people.isEmpty ? "It is shared. Send the link." : "It is shared with \(list.text). Send them the link.")
    }

    private func invite(_ addresses: String, _ permission: PanelPermission) async throws -> PanelContent.Message? {
        let container = try subjectOrThrow().container
        try check(content.offersInvitation && options.permissions.contains(permission))
        let list = try AddressList(addresses)
        let people = try await participants(list, permission, in: container)
        try await change { share in
            for person in people { share.addParticipant(person) }
        }
        return .done("\(list.text) can join now. Send them the link.")
    }

    private func participants(
        _ list: AddressList, _ permission: PanelPermission, in container: CKContainer
    ) async throws -> [CKShare.Participant] {
        guard !list.isEmpty else { return [] }
        let found = try await container.shareParticipants(for: list.lookups)
        return try list.lookups.map { lookup in
            let participant = try found[lookup]?.get()
            guard let participant else { throw CKError(.unknownItem) }
            participant.permission = permission.participantPermission
            return participant
        }
    }

    private func invite(
        earlier person: String, _ permission: PanelPermission
    ) async throws -> PanelContent.Message? {
        let container = try subjectOrThrow().container
        try check(content.offersInvitation && options.permissions.contains(permission))
        guard let known = earlier.first(where: { $0.id == person }) else { throw PanelProblem.personGone }
        let found = try await container.shareParticipants(for: [known.lookup])
        guard let participant = try found[known.lookup]?.get() else { throw PanelProblem.personGone }
        participant.permission = permission.participantPermission
        try await change { $0.addParticipant(participant) }
        return .done("\(known.shown.name) can join now. Send them the link.")
    }

    private func edit(
        _ person: String, _ outcome: String, _ edit: (CKShare.Participant) -> Void
    ) async throws -> PanelContent.Message? {
        var name = ""
        try await change { share in
            let participant = try share.editable(person)
            name = SharedItem(share).people.first { $0.id == person }?.shownName ?? ""
            edit(participant)
        }
        return .done("\(name) \(outcome).")
    }

    private func remove(_ person: String) async throws -> PanelContent.Message? {
        let name = content.people.first { $0.id == person }?.name ?? "The person"
        try await change { share in
            share.removeParticipant(try share.editable(person))
        }
        return .done("\(name) was removed, and cannot open this any more.")
    }

    private func set(_ access: PanelAccess) async throws -> PanelContent.Message? {
        try check(options.access.contains(access))
        try await change { $0.publicPermission = access.publicPermission }
        return .done("\(access.title).")
    }

    private func approve(_ person: String, _ permission: PanelPermission) async throws -> PanelContent.Message? {
        let (share, container) = try subjectOrThrow()
        try check(content.offersInvitation && options.permissions.contains(permission))
        let requester = try share.requester(person)
        let found = try await container.shareParticipants(for: [requester.participantLookupInfo])
        guard let participant = try found[requester.participantLookupInfo]?.get() else { throw PanelProblem.personGone }
        participant.permission = permission.participantPermission
        try await change { $0.addParticipant(participant) }
        return .done("\(SharedItem.Requester(requester.userIdentity).shownName) can join now.")
    }

    private func answer(
        _ person: String, _ outcome: String, _ answer: (CKShare, [CKShare.AccessRequester]) -> Void
    ) async throws -> PanelContent.Message? {
        var name = ""
        try await change { share in
            let requester = try share.requester(person)
            name = SharedItem.Requester(requester.userIdentity).shownName
            answer(share, [requester])
        }
        return .done("\(name) \(outcome).")
    }

    private func unblock(_ person: String) async throws -> PanelContent.Message? {
        var name = ""
        try await change { share in
            let blocked = share.blockedIdentities.first { SharedItem.Requester($0.userIdentity).id == person }
            guard let blocked else { throw PanelProblem.personGone }
            name = SharedItem.Requester(blocked.userIdentity).shownName
            share.unblockIdentities([blocked])
        }
        return .done("\(name) may ask for access again.")
    }

    private func addOneTimeLink(_ permission: PanelPermission) async throws -> PanelContent.Message? {
        try check(content.offersOneTimeLinks && options.permissions.contains(permission))
        let slot = CKShare.Participant.oneTimeURLParticipant()
        slot.permission = permission.participantPermission
        try await change { $0.addParticipant(slot) }
        return .done("The one-time link is in the list. Whoever opens it first joins; then it no longer works.")
    }

    /// Stops sharing as the owner, or leaves as anyone else (B-ACP-06, B-ACP-08).
    private func end(_ action: PanelAction) async throws {
        let (share, container) = try subjectOrThrow()
        let isOwner = SharedItem(share).part == .owner
        try check(isOwner == (action == .stop))
        try await database(of: share, in: container).deleteRecord(withID: share.recordID)
        let text = isOwner ? "Nobody else can open this any more." : "You have left."
        let title = content.title
        CKSystemSharingUIObserver.report(stopping: share.recordID, .success(()), in: container)
        client.panelDidStopSharing(share)
        replace(.ended(title: title, message: .done(text)))
    }

    // MARK: Saving

    /// How often a change is made again on the newer share of others.
    private static let attemptsMax = 4

    /// Saves the share with a change; where others changed it meanwhile, the change is made to theirs (B-SAV-07).
    private func change(_ change: (CKShare) throws -> Void) async throws {
        let (share, container) = try subjectOrThrow()
        try check(SharedItem(share).part.managesPeople)
        var base = share
        for attempt in 1... {
            // The panel keeps the saved share; a change that fails leaves it as it is.
            guard let draft = base.copy() as? CKShare else { throw PanelProblem.malformed }
            try change(draft)
            do {
                let saved = try await database(of: draft, in: container).save(draft)
                subject?.share = saved as? CKShare ?? draft
                break
            } catch let error as CKError where error.code == .serverRecordChanged && attempt < Self.attemptsMax {
                base = try await fetch(share, in: container)
                subject?.share = base
                try check(SharedItem(base).part.managesPeople)
            }
        }
        guard let saved = subject?.share else { return }
        CKSystemSharingUIObserver.report(saving: saved.recordID, .success(saved), in: container)
        client.panelDidSave(saved)
    }

    private func fetch(_ share: CKShare, in container: CKContainer) async throws -> CKShare {
        let record = try await database(of: share, in: container).record(for: share.recordID)
        guard let fetched = record as? CKShare else { throw PanelProblem.gone }
        return fetched
    }

    private func database(of share: CKShare, in container: CKContainer) -> CKDatabase {
        SharedItem(share).part == .owner ? container.privateCloudDatabase : container.sharedCloudDatabase
    }

    private func earlierPeople() async -> [EarlierPerson] {
        guard let container = subject?.container else { return [] }
        return await EarlierPerson.all(in: container, except: subject?.share.recordID)
    }
}

extension PanelContent.Message {
    fileprivate static func done(_ text: String) -> PanelContent.Message {
        PanelContent.Message(isProblem: false, text: text)
    }
}
