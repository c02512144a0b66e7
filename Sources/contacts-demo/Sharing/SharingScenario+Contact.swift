import CloudKit

// A contact, shared with a user who is known only by an e-mail address.
extension SharingScenario {
    private static let zoneName = "Contacts to share"
    private static let number = "417-555-9311"

    mutating func shareContact() async throws {
        let zone = try await recreateZone(Self.zoneName)
        let contact = CKRecord(recordType: "Contact", recordID: CKRecord.ID(recordName: "Grace", zoneID: zone.zoneID))
        contact["name"] = "Grace"
        contact.encryptedValues["phoneNumber"] = Self.number
        let share = CKShare(rootRecord: contact)
        share[CKShare.SystemFieldKey.title] = "Grace"
        let cleo = try await adasLaptop.invite(options.cleo, to: share, .readOnly)
        try expect(!cleo.userIdentity.hasiCloudAccount, "Cleo has no account.")
        try await adasLaptop.save([contact, share], to: adasLaptop.own)
        contactShare = share.recordID
        terminal.row("invited", options.cleo, "hasiCloudAccount: false")
        terminal.row("mail to Cleo", "\"Grace's number for you:", "")
        terminal.row("", shown(share.url) + "\"")
        let url = try address(of: share)
        let code = try await refusal { try await bensPhone.confirmShareParticipation(from: url) }
        try expect(code == .participantMayNeedVerification, "other users have to verify the address.")
        terminal.row("Ben tries the link", "participantMayNeedVerification")
    }

    mutating func joinContact() async throws {
        guard let contactShare else { return }
        try machine.signUp(options.cleo, profile: cleosPhone.profile)
        try expect(try await cleosPhone.container.accountStatus() == .available, "Cleo has an account now.")
        terminal.row(cleosPhone.name, "welkin sign-up", "with the invited address")
        let url = try address(of: try await adasLaptop.current(contactShare, in: adasLaptop.own))
        try await cleosPhone.confirmShareParticipation(from: url)
        terminal.row(cleosPhone.name, "confirmShareParticipation(from: url)")
        let id = CKRecord.ID(recordName: "Grace", zoneID: try await sharedZoneID(Self.zoneName))
        let code = try await refusal { _ = try await cleosPhone.shared.record(for: id) }
        try expect(code == .zoneBusy, "Cleo's keys are new: no device has sealed a key to them.")
        terminal.row("the number", "waiting for key", "until one of Ada's devices is online")

        _ = try await adasPhone.current(contactShare, in: adasPhone.own)
        let contact = try await cleosPhone.shared.record(for: id)
        try expect(contact.encryptedValues["phoneNumber"] as? String == Self.number, "Cleo reads the number.")
        terminal.row(adasPhone.name, "fetches the share", "and seals the key to Cleo")
        terminal.row(cleosPhone.name, "Grace, \(Self.number)", "readable only by Ada and Cleo")
    }
}
