import CloudKitModel
import CloudKitRecordLayer

extension ZoneHeader {
    /// Returns the zone as answers contain it.
    func zone(in place: DatabaseContext, _ tokens: SyncTokenSeal) -> Zone {
        let id = place.zoneID(name)
        guard isCustom else { return Zone(id: id, capabilities: [], keyEpoch: keyEpoch) }
        let token = SyncToken.zone(number, at: latestVersion)
        return Zone(
            id: id, capabilities: .custom(encryptionScope), encryptionScope: encryptionScope,
            syncToken: tokens.seal(token, for: place.partition), keyEpoch: keyEpoch, share: zoneWideShare)
    }
}
