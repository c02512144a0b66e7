import CloudKitModel

/// A modification before anything is sent: one request for each zone (B-BAT-01), each operation with the item it
/// belongs to.
package struct ModifyPlan: Sendable {
    /// The item that an operation of a request stands for.
    package enum Item: Hashable, Sendable {
        /// The record at this place of the list to save.
        case save(Int)
        /// The identifier at this place of the list to delete.
        case delete(Int)
    }

    struct Batch: Sendable {
        var items: [Item]
        var request: ModifyRecordsRequest
        /// The values to seal first, by the index of the operation.
        var secrets: [Int: RecordSecrets] = [:]
        /// The assets of the records to save, by the place of their operation, which lacks them.
        var assets: [Int: RecordAssets] = [:]
    }

    /// In the order in which their zones were first named.
    private(set) var batches: [Batch] = []

    /// One record to save, as far as the plan needs to know it.
    package struct Save: Sendable {
        package var id: RecordID
        package var operation: RecordOperation
        /// The records of the same zone that it points to with a deleteSelf reference.
        package var owners: [String]
        /// The values to seal first; nil: none.
        package var secrets: RecordSecrets?
        /// Fields that `operation` lacks.
        package var assets = RecordAssets()

        package init(
            id: RecordID, operation: RecordOperation, owners: [String], secrets: RecordSecrets? = nil,
            assets: RecordAssets = RecordAssets()
        ) {
            self.id = id
            self.operation = operation
            self.owners = owners
            self.secrets = secrets
            self.assets = assets
        }
    }

    /// - Throws: `limitExceeded` for more than 400 items (B-LIM-01); `invalidArguments` for an item that is named twice
    ///   (B-BAT-07, B-BAT-08).
    package init(
        saves: [Save], deletes: [RecordID], isAtomic: Bool, scope: DatabaseScope, clientChangeToken: [UInt8]? = nil
    ) throws(CallFailure) {
        try RequestLimits.check(items: saves.count + deletes.count)
        try Self.checkDistinct(saves.map(\.id), deletes)
        var places: [ZoneID: Int] = [:]
        for index in Self.order(saves, isAtomic: isAtomic, scope: scope) {
            let save = saves[index]
            add(.save(index), save.operation, in: save.id.zoneID, &places) { batch, place in
                batch.secrets[place] = save.secrets
                batch.assets[place] = save.assets.fields.isEmpty ? nil : save.assets
            }
        }
        var deleted: Set<RecordID> = []
        for (index, id) in deletes.enumerated() where deleted.insert(id).inserted {
            let operation = RecordOperation(.forceDelete, RecordChange(recordName: id.recordName))
            add(.delete(index), operation, in: id.zoneID, &places)
        }
        for index in batches.indices {
            batches[index].request.atomic = isAtomic
            batches[index].request.clientChangeToken = clientChangeToken
        }
    }

    private mutating func add(
        _ item: Item, _ operation: RecordOperation, in zone: ZoneID, _ places: inout [ZoneID: Int],
        _ complete: (inout Batch, _ place: Int) -> Void = { _, _ in }
    ) {
        let place = places[zone] ?? batches.count
        if place == batches.count {
            places[zone] = place
            batches.append(Batch(items: [], request: ModifyRecordsRequest(operations: [], zoneID: zone)))
        }
        complete(&batches[place], batches[place].items.count)
        batches[place].items.append(item)
        batches[place].request.operations.append(operation)
    }

    private static func checkDistinct(_ saves: [RecordID], _ deletes: [RecordID]) throws(CallFailure) {
        var saved: Set<RecordID> = []
        for id in saves {
            guard saved.insert(id).inserted else {
                throw .invalidArguments("You can't save the same record twice: \(id.recordName)")
            }
        }
        for id in deletes where saved.contains(id) {
            throw .invalidArguments(
                "You can't save and delete the same record (\(id.recordName)) in a single operation")
        }
    }

    /// The order in which records are saved: where items succeed or fail one by one, what others point to with a
    /// deleteSelf reference goes first (B-BAT-10).
    private static func order(_ saves: [Save], isAtomic: Bool, scope: DatabaseScope) -> [Int] {
        var places: [RecordID: Int] = [:]
        for (index, save) in saves.enumerated() { places[save.id] = index }
        var order: [Int] = []
        var isPlaced = Array(repeating: false, count: saves.count)
        for start in saves.indices {
            // Depth first without recursion; a record already on its way is not entered again, so cycles end.
            var path = [(index: start, nextOwner: 0)]
            guard !isPlaced[start] else { continue }
            isPlaced[start] = true
            while let (index, nextOwner) = path.last {
                let save = saves[index]
                let isOneByOne = !isAtomic || scope == .public || save.id.zoneID.isDefaultZone
                if isOneByOne, nextOwner < save.owners.count {
                    path[path.count - 1].nextOwner += 1
                    let owner = RecordID(recordName: save.owners[nextOwner], zoneID: save.id.zoneID)
                    if let place = places[owner], !isPlaced[place] {
                        isPlaced[place] = true
                        path.append((place, 0))
                    }
                } else {
                    order.append(index)
                    path.removeLast()
                }
            }
        }
        return order
    }
}
