import CloudKitRecordLayer

/// Permission to upload one file.
struct AssetUploadToken: Hashable, Sendable {
    var bearer: AssetBearer
    var purpose: AssetPurpose
    /// The file that pieces go to.
    var id: AssetFileID
    /// The most bytes the file may have.
    var bytesMax: Int64
    /// Milliseconds since 1970.
    var issued: Int64

    func sealed(by seal: AssetSeal) throws -> String {
        var value = ValueWriter(capacity: 384)
        bearer.write(to: &value)
        purpose.write(to: &value)
        value.add(id.name)
        value.add(bytesMax)
        value.add(issued)
        return try seal.seal(value.bytes, as: .upload)
    }

    init(bearer: AssetBearer, purpose: AssetPurpose, id: AssetFileID, bytesMax: Int64, issued: Int64) {
        self.bearer = bearer
        self.purpose = purpose
        self.id = id
        self.bytesMax = bytesMax
        self.issued = issued
    }

    /// nil for a text that this cloud did not seal.
    init?(_ text: String, by seal: AssetSeal) {
        guard var value = seal.open(text, as: .upload), let bearer = try? AssetBearer(reading: &value),
            let purpose = try? AssetPurpose(reading: &value), let name = try? value.text(),
            let id = AssetFileID(name: name),
            let bytesMax = try? value.number(Int64.self), let issued = try? value.number(Int64.self)
        else { return nil }
        self.init(bearer: bearer, purpose: purpose, id: id, bytesMax: bytesMax, issued: issued)
    }
}
