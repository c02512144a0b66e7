/// The fields of a record in one piece: the form in which the store keeps them, and from which answers copy them.
///
/// Their number (two bytes), then each as name (length in two bytes), base type, flags, JSON (length in four bytes); numbers are
/// little-endian.
package struct PackedFields: Sendable {
    /// Bytes that hold the fields, perhaps behind others.
    private let bytes: [UInt8]
    /// The offset of the number of fields.
    private let offset: Int

    /// A field in place; good as long as the function that was given it runs.
    package struct Element {
        /// The name in UTF-8.
        package let name: UnsafeRawBufferPointer
        /// The type of the value.
        package let type: FieldType
        /// The canonical JSON of the value.
        package let json: UnsafeRawBufferPointer

        /// The field as a value of its own.
        package var field: Field {
            Field(name: String(decoding: name, as: UTF8.self), type: type, json: [UInt8](json))
        }
    }

    /// Packs fields.
    ///
    /// - Parameter fields: Sorted by name, each name once.
    package init(_ fields: [Field]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(2) { $0 + 8 + $1.name.utf8.count + $1.json.count })
        func add(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        add(UInt16(clamping: fields.count))
        for field in fields {
            // Names are far shorter.
            let name = field.name.utf8.prefix(Int(UInt16.max) - 1)
            add(UInt16(name.count))
            bytes.append(contentsOf: name)
            bytes.append(field.type.base.rawValue)
            bytes.append((field.type.isList ? 1 : 0) | (field.type.isEncrypted ? 2 : 0))
            add(UInt32(field.json.count))
            bytes.append(contentsOf: field.json)
        }
        self.init(bytes: bytes, offset: 0)
    }

    /// Takes fields as they are in the store. What cannot be read as fields is noticed by `visit(_:)`.
    package init(bytes: [UInt8], offset: Int) {
        self.bytes = bytes
        self.offset = offset
    }

    /// The packed form.
    package var contents: ArraySlice<UInt8> { bytes[offset...] }

    /// The number of fields; 0 where it cannot be read.
    package var count: Int {
        contents.count < 2 ? 0 : Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
    }

    /// Calls `body` with each field, in the order of their names, until it returns false.
    ///
    /// - Returns: Whether the bytes are fields, as far as they were looked at.
    @discardableResult
    package func visit(_ body: (Element) -> Bool) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var position = offset
            func number<Number: FixedWidthInteger & Sendable>(_ type: Number.Type) -> Number? {
                let end = position + MemoryLayout<Number>.size
                guard end <= bytes.count else { return nil }
                defer { position = end }
                return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: type))
            }
            func part(_ count: Int) -> UnsafeRawBufferPointer? {
                guard count <= bytes.count - position else { return nil }
                defer { position += count }
                return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
            }
            guard let count = number(UInt16.self) else { return false }
            for _ in 0..<count {
                guard let nameCount = number(UInt16.self), let name = part(Int(nameCount)),
                    let base = number(UInt8.self).flatMap({ FieldType.Base(rawValue: $0) }),
                    let flags = number(UInt8.self), let jsonCount = number(UInt32.self),
                    let json = part(Int(jsonCount))
                else { return false }
                let type = FieldType(base, isList: flags & 1 != 0, isEncrypted: flags & 2 != 0)
                if !body(Element(name: name, type: type, json: json)) { return true }
            }
            return true
        }
    }

    /// Returns the fields; nil if the bytes are none.
    ///
    /// - Parameters:
    ///   - desired: The names wanted; nil: all.
    ///   - wanted: The base type that they have; nil: any.
    package func fields(_ desired: Set<String>? = nil, ofType wanted: FieldType.Base? = nil) -> [Field]? {
        if let desired, desired.isEmpty { return [] }
        var fields: [Field] = []
        let isWhole = visit { element in
            if let wanted, element.type.base != wanted { return true }
            if let desired, !desired.contains(String(decoding: element.name, as: UTF8.self)) { return true }
            fields.append(element.field)
            return true
        }
        return isWhole ? fields : nil
    }

    /// Whether the bytes are fields.
    package var isWhole: Bool { visit { _ in true } }
}

extension PackedFields: Hashable {
    /// Returns a Boolean value that indicates whether two have the same fields.
    package static func == (one: PackedFields, other: PackedFields) -> Bool { one.contents == other.contents }

    /// Hashes the fields.
    package func hash(into hasher: inout Hasher) { hasher.combine(contents) }
}

/// The fields of a record: as values, or packed where they come from the store as they are.
package enum PackableFields: Sendable {
    case values([Field])
    /// Fields that have been checked.
    case packed(PackedFields)

    /// The fields as values.
    package var values: [Field] {
        switch self {
        case .values(let fields): fields
        case .packed(let packed): packed.fields() ?? []
        }
    }
}

extension PackableFields: Hashable {
    /// Returns a Boolean value that indicates whether two records have the same fields, in whichever form.
    package static func == (one: PackableFields, other: PackableFields) -> Bool {
        if case .packed(let one) = one, case .packed(let other) = other { return one == other }
        return one.values == other.values
    }

    /// Hashes the fields.
    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
