import CloudKitModel
import CloudKitRecordLayer

/// Keeps what the devices of a zone's owner have written about the zone, sealed, for one another.
struct ZoneStateKeeper: Sendable {
    let place: DatabaseContext
    let tokens: SyncTokenSeal

    /// A Boolean value that indicates whether the caller's devices keep states in this database: native ones, in the user's own zones.
    static func keepsStates(in place: DatabaseContext) -> Bool {
        place.caller.surface == .native && place.scope == .private
    }

    /// Keeps a device's state, unless the zone is gone or in another incarnation, or a later state of the device is there.
    ///
    /// Of more devices than `ZoneDeviceState.devicesMax` the first ones count: a state that was removed would look withheld.
    func keep(
        _ update: ZoneStateUpdate, zoneName: String, _ transaction: inout StorageWriter
    ) async throws {
        guard let zone = try await transaction.zone(named: zoneName), zone.state == .live, zone.isCustom,
            update.incarnation == tokens.incarnation(ofZone: zone.number)
        else { return }
        var held: [StoredZoneState] = []
        for state in try await transaction.zoneStates(zone: zone.number) {
            // Those from before the cloud was restored are read by no device.
            if state.incarnation == update.incarnation {
                held.append(state)
            } else {
                transaction.clear(state, zone: zone.number)
            }
        }
        if let present = held.first(where: { $0.device == update.state.device }) {
            guard update.state.number > present.number else { return }
        } else if held.count >= ZoneDeviceState.devicesMax {
            return
        }
        transaction.set(
            StoredZoneState(
                device: update.state.device, number: update.state.number, incarnation: update.incarnation,
                bytes: update.state.bytes), zone: zone.number)
    }

    /// Returns the states of all devices; those that the caller has come without their bytes.
    func states(
        of zone: ZoneHeader, known: [String: UInt64], _ view: StorageReader
    ) async throws -> ZoneStates {
        let incarnation = tokens.incarnation(ofZone: zone.number)
        let states = try await view.zoneStates(zone: zone.number).filter { $0.incarnation == incarnation }
        return ZoneStates(
            incarnation: incarnation, forgetsDeletions: zone.horizon > 0,
            states: states.map {
                ZoneDeviceState(
                    device: $0.device, number: $0.number, bytes: known[$0.device] == $0.number ? [] : $0.bytes)
            })
    }
}
