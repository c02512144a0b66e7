import CloudKitModel
import CloudKitRecordLayer

extension Cloud {
    /// What is behind links, for whoever holds them (B-ACP-01, B-ACP-02).
    ///
    /// - Returns: An outcome for each, in their order; `itemNotFound` for what the caller may not know of.
    /// - Throws: `authenticationRequired` for callers without an account, unless all the shares are public.
    package func resolveShares(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareInvitationOutcome] {
        try checkInvitations(requests.count, address, caller)
        let person = try await holder(caller)
        var outcomes: [ShareInvitationOutcome] = []
        for request in requests {
            do {
                guard let link = try await link(request.shortGUID, in: address) else {
                    throw caller.user == nil ? RequestFailure.notSignedIn : .noSuchShare
                }
                outcomes.append(.invitation(try await resolve(request, link, person, caller)))
            } catch let failure as RequestFailure where failure.code != .authenticationRequired {
                outcomes.append(.failed(failure))
            }
        }
        return outcomes
    }

    /// Takes the seats that links offer (B-ACP-03 to B-ACP-05). The zone is in the caller's shared database when this
    /// returns (B-SHF-02).
    package func acceptShares(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [ShareInvitationOutcome] {
        try checkInvitations(requests.count, address, caller)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let person = try await holder(caller)
        var outcomes: [ShareInvitationOutcome] = []
        for request in requests {
            do {
                guard let link = try await link(request.shortGUID, in: address) else {
                    throw RequestFailure.noSuchShare
                }
                try await accept(link, request, user, person, caller)
                outcomes.append(.invitation(try await resolve(request, link, person, caller)))
            } catch let failure as RequestFailure {
                outcomes.append(.failed(failure))
            }
        }
        return outcomes
    }

    /// Asks the hosts of shares to be let in (B-SHN-02 to B-SHN-04).
    ///
    /// - Returns: For each link why it failed; nil for success, which says nothing of whether there is a share.
    package func requestAccess(
        _ requests: [ShareInvitationRequest], in address: DatabaseAddress, by caller: Caller
    ) async throws -> [RequestFailure?] {
        try checkInvitations(requests.count, address, caller)
        guard let user = caller.user else { throw RequestFailure.notSignedIn }
        let person = try await holder(caller)
        var failures: [RequestFailure?] = []
        for request in requests {
            do {
                guard let link = try await link(request.shortGUID, in: address) else {
                    throw RequestFailure.noSuchShare
                }
                let asking = StoredPerson(user: user, email: person.email)
                let holder = person.opening(link)
                try await changeShare(at: link, opening: request.shortGUID, by: caller) { share in
                    try share.asked(by: asking, holder.verdict(on: share, ownedBy: link.owner))
                }
                failures.append(nil)
            } catch let failure as RequestFailure {
                let isTold = failure.code == .participantAlreadyInvited || failure.code == .tryAgainLater
                failures.append(isTold ? failure : nil)
            }
        }
        return failures
    }

    /// The container and environment that a link belongs to, for whoever holds it: it says where to ask.
    package func sharePlace(ofLink shortGUID: String) async throws -> (ContainerID, Environment)? {
        let link = try await store.read(.shareDirectory) { try await $0.sharePlace(shortGUID: shortGUID) }
        return link.map { ($0.container, $0.environment) }
    }

    // MARK: Parts

    private func checkInvitations(
        _ count: Int, _ address: DatabaseAddress, _ caller: Caller
    ) throws(RequestFailure) {
        guard address.scope == .public else { throw .notApplicable(in: address.scope) }
        guard !caller.isServerKey else {
            throw RequestFailure(.accessDenied, "a server-to-server key takes part in no share", remedy: "Sign in.")
        }
        try checkCount(count, caller)
    }

    private func holder(_ caller: Caller) async throws -> LinkHolder {
        guard let user = caller.user else { return LinkHolder() }
        return LinkHolder(user: user, email: try await userDirectory.person(user)?.email)
    }

    /// nil: there is no such link.
    private func link(_ shortGUID: String, in address: DatabaseAddress) async throws -> SharePlace? {
        guard (1...255).contains(shortGUID.utf8.count) else { return nil }
        let link = try await store.read(.shareDirectory) { try await $0.sharePlace(shortGUID: shortGUID) }
        guard let link, link.environment == address.environment else { return nil }
        guard link.container == address.container else {
            throw RequestFailure(
                .badContainer, "the share belongs to another container", remedy: "Ask that container.")
        }
        return link
    }

    /// The owner's partition, with the caller as whoever changes it.
    private func place(of link: SharePlace, _ caller: Caller) -> DatabasePlace {
        let scope = caller.user == link.owner ? DatabaseScope.private : .shared
        return DatabasePlace(
            address: DatabaseAddress(container: link.container, environment: link.environment, scope: scope),
            caller: caller, owner: link.owner,
            partition: .privateDatabase(link.container, link.environment, of: link.owner),
            schemaPartition: .schema(link.container, link.environment))
    }

    private func resolve(
        _ request: ShareInvitationRequest, _ link: SharePlace, _ person: LinkHolder, _ caller: Caller
    ) async throws -> ShareInvitation {
        let place = place(of: link, caller)
        let holder = person.opening(link)
        var invitation = try await store.read(place.partition) { view in
            guard let found = try await FoundShare(at: link, opening: request.shortGUID, view) else {
                throw caller.user == nil ? RequestFailure.notSignedIn : .noSuchShare
            }
            return try await Self.invitation(request, found, holder, place, view)
        }
        if var share = invitation.share.sharing {
            try await userDirectory.addIdentities(to: &share)
            invitation.share.sharing = share
            invitation.owner = share.owner?.identity ?? invitation.owner
        }
        return invitation
    }

    private static func invitation(
        _ request: ShareInvitationRequest, _ found: FoundShare, _ holder: LinkHolder, _ place: DatabasePlace,
        _ view: StorageReader
    ) async throws -> ShareInvitation {
        var stored = found.stored
        var (role, permission) = (ParticipantRole.publicUser, stored.publicPermission)
        var acceptance = ParticipantAcceptance.pending
        switch holder.verdict(on: stored, ownedBy: place.owner) {
        case .owner: (role, permission, acceptance) = (.owner, .readWrite, .accepted)
        case .participant(let id), .seat(let id):
            guard let index = stored.participants.firstIndex(where: { $0.id == id }) else {
                throw RequestFailure.noSuchShare
            }
            stored.participants[index].user = holder.user
            let participant = stored.participants[index]
            (role, permission) = (participant.role, stored.permission(of: participant))
            acceptance = participant.acceptance
        case .join: break
        case .mayNeedVerification: throw RequestFailure.mayNeedVerification
        case .hide: throw RequestFailure.noSuchShare
        case .signIn: throw RequestFailure.notSignedIn
        }
        let zoneID = place.zoneID(found.zone.name)
        var record = try found.record.record(in: zoneID)
        let shareView = ShareView(owner: place.owner, viewer: holder.user)
        let epochs = try await view.shareKeyEpochs(
            of: stored, zone: found.zone.number, for: shareView, limit: ShareKeys.epochsShown)
        record.sharing = shareView.share(stored, epochs: epochs)
        var root: Record?
        if request.shouldFetchRootRecord {
            root = try found.root?.record(in: zoneID, desired: request.rootRecordDesiredKeys.map(Set.init))
        }
        return ShareInvitation(
            container: place.address.container, environment: place.address.environment, scope: place.scope,
            share: record, rootRecordName: stored.root, rootRecord: root, role: role, permission: permission,
            acceptance: acceptance, owner: PersonIdentity(user: place.owner))
    }

    private func accept(
        _ link: SharePlace, _ request: ShareInvitationRequest, _ user: UserID, _ person: LinkHolder, _ caller: Caller
    ) async throws {
        let holder = person.opening(link)
        let freshID = RecordName.random(serverEnvironment)
        let now = serverEnvironment.now()
        let own = StoragePartition.privateDatabase(link.container, link.environment, of: user)
        try await registry.enter(own)
        try await changeShare(
            at: link, opening: request.shortGUID, by: caller, with: own,
            after: { transaction, zone in
                try await transaction.join(zone, of: link.owner, user, in: own)
            },
            { share in
                try share.accepted(
                    by: user, email: person.email, holder.verdict(on: share, ownedBy: link.owner), freshID: freshID,
                    now: now)
            })
    }

    /// Changes the share behind a link in one transaction of its owner's partition and perhaps another.
    ///
    /// - Parameters:
    ///   - after: What to write when the share has changed.
    ///   - decide: The changed share; nil: nothing changes.
    /// - Throws: `itemNotFound` where the link leads nowhere.
    private func changeShare(
        at link: SharePlace, opening shortGUID: String, by caller: Caller, with other: StoragePartition? = nil,
        after: (@Sendable (inout StorageWriter, ZoneHeader) async throws -> Void)? = nil,
        _ decide: @Sendable (StoredShare) throws -> StoredShare?
    ) async throws {
        do {
            try await changeShares(
                inZone: link.zoneName, of: place(of: link, caller), with: other.map { [$0] } ?? []
            ) { view, reach in
                guard let found = try await FoundShare(at: link, opening: shortGUID, view) else {
                    throw RequestFailure.noSuchShare
                }
                guard let changed = try decide(found.stored) else { return ([], { _, _ in }) }
                return (
                    [found.stored],
                    { writing, transaction in
                        try await writing.change(changed, before: found.stored, &transaction)
                        try await after?(&transaction, reach.zone)
                    }
                )
            }
        } catch let failure as RequestFailure
            where [.zoneNotFound, .zonePurged, .zoneKeysReset].contains(failure.code)
        {
            throw RequestFailure.noSuchShare
        }
    }
}

extension LinkHolder {
    fileprivate func opening(_ link: SharePlace) -> LinkHolder {
        LinkHolder(user: user, email: email, seatID: link.participantID)
    }
}

extension StorageWriter {
    /// Puts a zone into a user's shared database, at its newest place (B-SHF-01). Home is the owner's partition.
    fileprivate mutating func join(
        _ zone: ZoneHeader, of owner: UserID, _ user: UserID, in partition: StoragePartition
    ) async throws {
        guard let member = try await shareMember(zone: zone.number, user: user) else { return }
        var header = try await joinedHeader(in: partition)
        let held = try await joinedZone(owner, zone.name, in: partition)
        var joined = JoinedZone(
            owner: owner, zoneName: zone.name, zone: zone.number, noted: member.seats.map(\.joined).max() ?? 0)
        joined.feedVersion = held?.feedVersion ?? 0
        try move(&joined, &header, in: partition)
    }
}
