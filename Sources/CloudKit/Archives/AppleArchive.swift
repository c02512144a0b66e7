import Foundation

/// Reads what Apple's framework archived, for an app that moves here and brings its archives along.
///
/// Keys and class names are those seen in such archives. Written are only archives of our own (`Archive`): the class
/// names cannot be chosen here.
struct AppleArchive {
    let coder: NSCoder

    init(_ coder: NSCoder) {
        self.coder = coder
    }

    /// A missing key would end the process, so it is asked for first.
    func object<Object: NSObject & NSSecureCoding>(_ type: Object.Type, _ key: String) -> Object? {
        coder.containsValue(forKey: key) ? coder.decodeObject(of: type, forKey: key) : nil
    }

    func string(_ key: String) -> String? {
        object(NSString.self, key) as String?
    }

    func integer(_ key: String) -> Int {
        coder.containsValue(forKey: key) ? coder.decodeInteger(forKey: key) : 0
    }

    func names(_ key: String) -> Set<String> {
        guard coder.containsValue(forKey: key),
            let set = coder.decodeObject(of: [NSSet.self, NSArray.self, NSString.self], forKey: key)
        else { return [] }
        let names = (set as? NSSet)?.allObjects ?? (set as? [Any]) ?? []
        return Set(names.compactMap { $0 as? String }.filter { !$0.isEmpty })
    }
}
