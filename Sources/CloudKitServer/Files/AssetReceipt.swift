import CloudKitRecordLayer

/// The proof that a file exists, with its purpose.
struct AssetReceipt: Hashable, Sendable {
    var purpose: AssetPurpose
    var id: AssetFileID
    var size: Int64
    var fileChecksum: String
    /// Milliseconds since 1970.
    var expires: Int64

    func sealed(by seal: AssetSeal) throws -> String {
        var value = ValueWriter(capacity: 256)
        purpose.write(to: &value)
        value.add(id.name)
        value.add(size)
        value.add(fileChecksum)
        value.add(expires)
        return try seal.seal(value.bytes, as: .receipt)
    }

    init(purpose: AssetPurpose, asset: StoredAsset, expires: Int64) {
        self.purpose = purpose
        id = asset.id
        size = asset.size
        fileChecksum = asset.fileChecksum
        self.expires = expires
    }

    /// nil for a text that this cloud did not seal.
    init?(_ text: String, by seal: AssetSeal) {
        guard var value = seal.open(text, as: .receipt), let purpose = try? AssetPurpose(reading: &value),
            let name = try? value.text(), let id = AssetFileID(name: name), let size = try? value.number(Int64.self),
            let fileChecksum = try? value.text(), let expires = try? value.number(Int64.self)
        else { return nil }
        self.purpose = purpose
        self.id = id
        self.size = size
        self.fileChecksum = fileChecksum
        self.expires = expires
    }
}
