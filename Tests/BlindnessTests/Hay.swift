import CloudUnderTest
import Foundation

/// All bytes of a cloud that an attacker could obtain.
struct Hay {
    /// The found needles and their locations.
    private(set) var places: [(String, [UInt8])] = []

    var bytes: Int { places.reduce(0) { $0 + $1.1.count } }

    /// Collects the bytes.
    ///
    /// - Parameter cloud: A stopped cloud.
    init(cloud: CloudProcess, tap: TrafficTap) throws {
        places.append(("the wire", tap.bytes))
        let files = FileManager.default.enumerator(atPath: cloud.data)
        while let name = files?.nextObject() as? String {
            var isFolder: ObjCBool = false
            let path = cloud.data + "/" + name
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
                continue
            }
            places.append(("the store's \(name)", Array(FileManager.default.contents(atPath: path) ?? Data())))
        }
        places.append(("the log", Array(FileManager.default.contents(atPath: cloud.log) ?? Data())))
    }
}
