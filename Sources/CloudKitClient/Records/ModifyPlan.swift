import CloudKitModel

/// A modification before anything is sent, split by zone: one request for each (B-BAT-01).
package struct ModifyPlan: Sendable {
    /// One record to save or delete: its operation, and the parts that are added to that before it is sent.
    package struct Item: Sendable {
        package var id: RecordID
        /// The position of the item in the list to save, or in the list to delete.
        package fileprivate(set) var position = 0
        package var operation: RecordOperation
        /// The records of the same zone that it points to with a deleteSelf reference.
        var owners: [String] = []
        /// The values to seal first; nil: none.
        package internal(set) var secrets: RecordSecrets?
        /// The fields of assets, which `operation` lacks until their files are uploaded.
        package var assets: [AssetField] = []
        /// The assets that the app last fetched or saved with the record, with the bytes of the same file among them
        /// perhaps (B-AST-03).
        var heldAssets: [UploadedAsset] = []
        /// The checksums of the files that the item is sent with, as the server holds them.
        package internal(set) var fileChecksums: [AssetSlot: String] = [:]
        /// Returns the item that saves the record with all of its fields; nil: there is none.
        package var whole: (@Sendable () -> Item?)?

        package init(
            id: RecordID, operation: RecordOperation, owners: [String] = [], secrets: RecordSecrets? = nil,
            assets: [AssetField] = [], heldAssets: [UploadedAsset] = []
        ) {
            self.id = id
            self.operation = operation
            self.owners = owners
            self.secrets = secrets
            self.assets = assets
            self.heldAssets = heldAssets
        }

        /// Makes this the item at the place of another in the list of the app.
        mutating func keepPosition(of other: Item) { position = other.position }

        /// A Boolean value that indicates whether the record is deleted.
        package var isDeletion: Bool { operation.kind.isDelete }
    }

    /// The items of one zone, in the order in which they are sent.
    struct Batch: Sendable {
        var zoneID: ZoneID
        /// A Boolean value that indicates whether all items or none take effect, where the zone supports it (B-BAT-01,
        /// B-BAT-04).
        var wantsAtomic: Bool
        var clientChangeToken: [UInt8]?
        var items: [Item] = []

        /// The request with the operations as they are.
        var request: ModifyRecordsRequest { request(items.map(\.operation)) }

        /// Returns the request with some operations, or with the sealed ones.
        func request(_ operations: [RecordOperation]) -> ModifyRecordsRequest {
            ModifyRecordsRequest(
                operations: operations, zoneID: zoneID, atomic: wantsAtomic, clientChangeToken: clientChangeToken)
        }
    }

    /// In the order in which their zones were first named.
    private(set) var batches: [Batch] = []

    /// - Throws: `limitExceeded` for more than 400 items (B-LIM-01); `invalidArguments` for an item that is named twice
    ///   (B-BAT-07, B-BAT-08).
    package init(
        saves: [Item], deletes: [RecordID], isAtomic: Bool, scope: DatabaseScope, clientChangeToken: [UInt8]? = nil
    ) throws(CallFailure) {
        try RequestLimits.check(items: saves.count + deletes.count)
        try Self.checkDistinct(saves.map(\.id), deletes)
        var items: [Item] = []
        items.reserveCapacity(saves.count + deletes.count)
        for position in Self.order(saves, isAtomic: isAtomic, scope: scope) {
            items.append(saves[position])
            items[items.count - 1].position = position
        }
        var deleted: Set<RecordID> = []
        for (position, id) in deletes.enumerated() where deleted.insert(id).inserted {
            items.append(
                Item(id: id, operation: RecordOperation(.forceDelete, RecordChange(recordName: id.recordName))))
            items[items.count - 1].position = position
        }
        split(items, Batch(zoneID: .default, wantsAtomic: isAtomic, clientChangeToken: clientChangeToken))
    }

    /// Splits the items by zone.
    ///
    /// - Parameter template: What the batches of all zones have in common.
    private mutating func split(_ items: [Item], _ template: Batch) {
        var places: [ZoneID: Int] = [:]
        for item in items {
            let place = places[item.id.zoneID] ?? batches.count
            if place == batches.count {
                places[item.id.zoneID] = place
                batches.append(template)
                batches[place].zoneID = item.id.zoneID
            }
            batches[place].items.append(item)
        }
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
    private static func order(_ saves: [Item], isAtomic: Bool, scope: DatabaseScope) -> [Int] {
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
