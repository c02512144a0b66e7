import CloudKitModel
import CloudKitRecordLayer

/// The steps that operations on links of shares have in common.
struct ShareLinks: Sendable {
    let cloud: Cloud

    init(_ cloud: Cloud) { self.cloud = cloud }

    func checkInvitations(
        _ count: Int, address: DatabaseAddress, caller: Caller
    ) throws(RequestFailure) {
        guard address.scope == .public else { throw .notApplicable(in: address.scope) }
        guard !caller.isServerKey else {
            throw RequestFailure(.accessDenied, "a server-to-server key takes part in no share", remedy: "Sign in.")
        }
        try caller.checkItemCount(count)
    }

    func holder(_ caller: Caller) async throws -> LinkHolder {
        guard let user = caller.user else { return LinkHolder() }
        return LinkHolder(user: user, proved: ProvedAddresses(try await cloud.userDirectory.person(user)))
    }

    /// Returns the location of a link's share; nil: there is no such link.
    func link(_ shortGUID: String, in address: DatabaseAddress) async throws -> ShareLocation? {
        guard (1...255).contains(shortGUID.utf8.count) else { return nil }
        let link = try await cloud.store.read(.shareDirectory) { try await $0.shareLocation(shortGUID: shortGUID) }
        guard let link, link.environment == address.environment else { return nil }
        guard link.container == address.container else {
            throw RequestFailure(
                .badContainer, "the share belongs to another container", remedy: "Ask that container.")
        }
        return link
    }

    /// Returns the place of the owner's partition, with the caller as the acting user.
    private func place(of link: ShareLocation, _ caller: Caller) -> DatabaseContext {
        let scope = caller.user == link.owner ? DatabaseScope.private : .shared
        return DatabaseContext(
            address: DatabaseAddress(container: link.container, environment: link.environment, scope: scope),
            caller: caller, owner: link.owner,
            partition: .privateDatabase(link.container, link.environment, of: link.owner),
            schemaPartition: .schema(link.container, link.environment))
    }

    func resolve(
        _ request: ShareInvitationRequest, link: ShareLocation, person: LinkHolder, caller: Caller
    ) async throws -> ShareInvitation {
        let place = place(of: link, caller)
        let holder = person.opening(link)
        var invitation = try await cloud.store.read(place.partition) { view in
            guard let found = try await ResolvedShareLink(at: link, opening: request.shortGUID, view) else {
                throw caller.user == nil ? RequestFailure.notSignedIn : .noSuchShare
            }
            return try await Self.invitation(request, found: found, holder: holder, place: place, view)
        }
        if var share = invitation.share.sharing {
            try await cloud.userDirectory.addIdentities(to: &share)
            invitation.share.sharing = share
            invitation.owner = share.owner?.identity ?? invitation.owner
        }
        return invitation
    }

    private static func invitation(
        _ request: ShareInvitationRequest, found: ResolvedShareLink, holder: LinkHolder, place: DatabaseContext,
        _ view: StorageReader
    ) async throws -> ShareInvitation {
        var stored = found.stored
        var (role, permission) = (ParticipantRole.publicUser, stored.publicPermission)
        var acceptance = ParticipantAcceptance.pending
        switch holder.verdict(on: stored, ownedBy: place.owner) {
        case .owner: (role, permission, acceptance) = (.owner, .readWrite, .accepted)
        case .participant(let id), .slot(let id):
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

    /// Changes the share behind a link in one transaction of its owner's partition and perhaps another.
    ///
    /// - Parameters:
    ///   - after: What to write when the share has changed.
    ///   - decide: The changed share; nil: nothing changes.
    /// - Throws: `itemNotFound` where the link leads nowhere.
    func changeShare(
        at link: ShareLocation, opening shortGUID: String, by caller: Caller, with other: StoragePartition? = nil,
        after: (@Sendable (inout StorageWriter, ZoneHeader) async throws -> Void)? = nil,
        _ decide: @Sendable (StoredShare) throws -> StoredShare?
    ) async throws {
        do {
            try await ChangeShares(cloud).run(
                inZone: link.zoneName, of: place(of: link, caller), with: other.map { [$0] } ?? []
            ) { view, access in
                guard let found = try await ResolvedShareLink(at: link, opening: shortGUID, view) else {
                    throw RequestFailure.noSuchShare
                }
                guard let changed = try decide(found.stored) else { return ([], { _, _ in }) }
                return (
                    [found.stored],
                    { writer, transaction in
                        try await writer.change(changed, before: found.stored, &transaction)
                        try await after?(&transaction, access.zone)
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
    func opening(_ link: ShareLocation) -> LinkHolder {
        LinkHolder(user: user, proved: proved, participantSlotID: link.participantID)
    }
}
