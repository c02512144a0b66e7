import CloudKitModel

/// Sealing and opening, as devices do it.
extension Simulation {
    func sealSometimes(_ edit: inout Edit, on index: Int) async throws {}

    /// - Returns: false: the device lacks the keys for it.
    func sealForMove(_ edit: inout Edit, on index: Int) async throws -> Bool { true }

    func sealForMove(
        _ edit: inout Edit, sharedAs name: String, in change: inout ShareChange, on index: Int
    ) async throws -> Bool { true }

    func keyZoneShare(_ change: inout ShareChange, in place: Place, on index: Int) {}
}
