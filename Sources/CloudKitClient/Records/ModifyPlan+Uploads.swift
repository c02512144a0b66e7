import CloudKitModel

/// What of one zone's part of a plan is sent, after the files of its records were uploaded or could not be.
struct BatchDeparture: Sendable {
    /// What goes; nothing in it when nothing goes.
    private(set) var batch: ModifyPlan.Batch
    /// Why an item stays, by the place of its operation in the plan; nil: it goes.
    let refused: [CallFailure?]

    /// - Parameter uploads: The fields of assets, by the place of their operation.
    init(
        _ whole: ModifyPlan.Batch, _ uploads: [Int: Result<[AssetFieldValue], CallFailure>], scope: DatabaseScope
    ) {
        refused = Self.refused(whole, uploads, scope)
        batch = whole
        batch.items = []
        batch.request.operations = []
        batch.secrets = [:]
        batch.assets = [:]
        for (index, refusal) in refused.enumerated() where refusal == nil {
            let place = batch.items.count
            batch.items.append(whole.items[index])
            batch.request.operations.append(whole.request.operations[index])
            batch.secrets[place] = whole.secrets[index]
            guard case .success(let fields) = uploads[index] else { continue }
            if batch.secrets[place] == nil {
                batch.request.operations[place].change.add(fields)
            } else {
                batch.secrets[place]?.assets = fields
            }
        }
    }

    /// B-BAT-02: in an atomic zone nothing is saved when one record cannot be, and the others say so.
    private static func refused(
        _ batch: ModifyPlan.Batch, _ uploads: [Int: Result<[AssetFieldValue], CallFailure>], _ scope: DatabaseScope
    ) -> [CallFailure?] {
        let refused = batch.items.indices.map { index -> CallFailure? in
            if case .failure(let failure) = uploads[index] { failure } else { nil }
        }
        guard batch.isAtomic(in: scope), refused.contains(where: { $0 != nil }) else { return refused }
        return refused.map { $0 ?? .refused(RequestFailure(.atomicFailure, "Atomic failure")) }
    }
}

extension ModifyPlan.Batch {
    /// Whether all its items are saved or none (B-BAT-01, B-BAT-04).
    package func isAtomic(in scope: DatabaseScope) -> Bool {
        request.atomic != false && scope != .public && !request.zoneID.isDefaultZone
    }
}

extension RecordChange {
    /// Adds fields whose files are plain; all stay sorted by name.
    fileprivate mutating func add(_ added: [AssetFieldValue]) {
        // A dictionary of texts and a number is always a field.
        fields += added.compactMap { try? .set($0.field(sealedBy: nil)) }
        fields.sort { $0.name < $1.name }
    }
}
